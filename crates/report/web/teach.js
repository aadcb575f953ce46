// Steps through the decisions of all schedules at once: a line at the time, and what each policy just decided.
const steps = JSON.parse(document.getElementById("data").textContent);
let place = 0;

function show(to) {
  place = Math.min(Math.max(to, 0), steps.times.length - 1);
  const at = steps.times[place];
  document.getElementById("time").textContent = `${at.label} ms`;
  steps.policies.forEach((decisions, index) => {
    const said = decisions.filter((decision) => decision.at <= at.at).pop();
    document.getElementById(`said-${index}`).textContent = said ? said.text : "Nobody has arrived.";
    const line = document.getElementById(`line-${index}`);
    line.setAttribute("x1", at.x);
    line.setAttribute("x2", at.x);
  });
}

for (const [id, move] of [["first", -Infinity], ["back", -1], ["on", 1], ["last", Infinity]]) {
  document.getElementById(id).addEventListener("click", () => show(place + move));
}
document.addEventListener("keydown", (event) => {
  if (event.key === "ArrowRight") show(place + 1);
  if (event.key === "ArrowLeft") show(place - 1);
});
show(0);
