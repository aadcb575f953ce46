// A pool of goroutines behind a channel: three producers that sleep between batches, four workers that compute, one
// collector of results.
package main

import (
	"sync"
	"time"
)

// work computes for about rounds x 2 ns.
func work(rounds uint64) uint64 {
	value := rounds
	for ; rounds > 0; rounds-- {
		value = value*6364136223846793005 + 1442695040888963407
	}
	return value
}

func produce(jobs chan<- uint64, seed uint64, until time.Time) {
	for time.Now().Before(until) {
		for batch := seed % 4; batch < 5; batch++ {
			seed = work(seed%1000 + 1)
			jobs <- 20000 + seed%200000
		}
		time.Sleep(time.Duration(500+seed%2500) * time.Microsecond)
	}
}

func main() {
	until := time.Now().Add(3 * time.Second)
	jobs, results := make(chan uint64, 8), make(chan uint64, 8)
	var producers, workers sync.WaitGroup
	for n := uint64(1); n <= 3; n++ {
		producers.Add(1)
		go func() { defer producers.Done(); produce(jobs, n*7919, until) }()
	}
	for range 4 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for rounds := range jobs {
				results <- work(rounds)
			}
		}()
	}
	go func() { producers.Wait(); close(jobs); workers.Wait(); close(results) }()
	for range results {
	}
}
