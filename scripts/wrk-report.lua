-- Prints how many requests took how many us, without the samples that wrk adds. Needs CONNECTIONS.
local connections = tonumber(os.getenv("CONNECTIONS"))
done = function(summary, latency)
    local expected = math.floor(summary.duration / math.floor(summary.requests / connections))
    local values, counts = {}, {}
    for index = 1, #latency do
        values[index], counts[index] = latency(index)
    end
    local made = {}
    for index = #values, 1, -1 do
        local value = values[index]
        local count = counts[index] - (made[value] or 0)
        if value >= 2 * expected and count > 0 then
            local earlier = value - expected
            while earlier > expected do
                made[earlier] = (made[earlier] or 0) + count
                earlier = earlier - expected
            end
        end
        counts[index] = count
    end
    print("REPORT us,requests")
    for index, value in ipairs(values) do
        if counts[index] > 0 then print(string.format("REPORT %d,%d", value, counts[index])) end
    end
    print("TOTAL " .. summary.requests)
end
