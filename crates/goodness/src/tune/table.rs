//! The values of all candidates: by candidate, block, input and metric.

/// One block of a candidate: a run on every input. By input, then metric; `None` where a run did not measure it.
pub(crate) type Block = Vec<Vec<Option<f64>>>;

/// The values of all candidates so far. Candidate 0 is the default; block `n` of every candidate has the same seeds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    candidates: Vec<Vec<Block>>,
}

impl Table {
    /// A table of so many candidates without values.
    pub fn of(candidates: usize) -> Table {
        Table { candidates: vec![Vec::new(); candidates] }
    }

    /// Adds a candidate without values. Returns its number.
    pub fn add(&mut self) -> usize {
        self.candidates.push(Vec::new());
        self.candidates.len() - 1
    }

    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.candidates.len()
    }

    /// Blocks of `candidate`.
    pub fn blocks(&self, candidate: usize) -> u32 {
        self.candidates[candidate].len() as u32
    }

    /// Adds the next block of `candidate`.
    pub fn push(&mut self, candidate: usize, block: Block) {
        self.candidates[candidate].push(block);
    }

    /// The values of `metric` of two candidates, in the first `most` blocks that both have and in which both measured
    /// it on every input: a value for each block, the mean over the inputs, geometric if all values are above 0.
    pub fn pairs(&self, [one, other]: [usize; 2], metric: usize, most: usize) -> (Vec<f64>, Vec<f64>) {
        let of = |block: &Block| block.iter().map(|input| input[metric]).collect::<Option<Vec<f64>>>();
        let blocks = self.candidates[one].iter().zip(&self.candidates[other]).take(most);
        let both: Vec<(Vec<f64>, Vec<f64>)> = blocks.filter_map(|(a, b)| of(a).zip(of(b))).collect();
        let is_positive = both.iter().all(|(a, b)| a.iter().chain(b).all(|value| *value > 0.0));
        let mean = |values: &[f64]| {
            let scaled = values.iter().map(|value| if is_positive { value.ln() } else { *value });
            let mean = scaled.sum::<f64>() / values.len() as f64;
            if is_positive { mean.exp() } else { mean }
        };
        both.iter().map(|(a, b)| (mean(a), mean(b))).unzip()
    }

    /// The mean of `metric` over all blocks and inputs of `candidate` that measured it.
    pub fn mean(&self, candidate: usize, metric: usize) -> Option<f64> {
        let all = self.candidates[candidate].iter().flatten().filter_map(|input| input[metric]);
        goodness_stats::summary::mean(&all.collect::<Vec<f64>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_of_blocks_that_both_measured_everywhere() {
        let mut table = Table::of(1);
        let [a, b] = [0, table.add()];
        for value in [1.0, 2.0] {
            table.push(a, vec![vec![Some(value)], vec![Some(4.0 * value)]]);
        }
        table.push(b, vec![vec![Some(8.0)], vec![Some(2.0)]]);
        let near = |(one, other): (Vec<f64>, Vec<f64>), expected: [f64; 2]| {
            assert_eq!((one.len(), other.len()), (1, 1));
            assert!(
                (one[0] - expected[0]).abs() < 1e-12 && (other[0] - expected[1]).abs() < 1e-12,
                "{one:?} {other:?}"
            );
        };
        near(table.pairs([a, b], 0, 9), [2.0, 4.0]);
        assert_eq!(table.pairs([a, a], 0, 1).0.len(), 1, "no more blocks than asked for");
        table.push(b, vec![vec![Some(8.0)], vec![None]]);
        near(table.pairs([a, b], 0, 9), [2.0, 4.0]);
        assert_eq!((table.blocks(a), table.blocks(b), table.mean(b, 0)), (2, 2, Some(6.0)));
    }
}
