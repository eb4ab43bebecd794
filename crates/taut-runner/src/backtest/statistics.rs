//! Figures of what a run was worth from time to time.

use super::history::Sample;

/// Days of trading in a year, as hftbacktest counts them.
const DAYS: f64 = 252.0;
const DAY_NS: f64 = 86_400e9;

/// Figures of the values from time to time. Those that are of steps depend on the time between
/// samples, which is to be told with them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// How many values there are.
    pub samples: usize,
    /// The mean step, divided by the standard deviation of steps, times the root of the steps in a
    /// year of 252 days; none where steps do not differ.
    pub sharpe: Option<f64>,
    /// The same, divided by the root of the mean square of steps, those above 0 counted as 0.
    pub sortino: Option<f64>,
    /// The largest fall from the highest value before it.
    pub drawdown_max: f64,
    /// The last value by what was traded; none where nothing was.
    pub return_over_trade: Option<f64>,
}

/// Figures of samples that are equally far apart but for the last one, which is no step.
pub fn statistics(samples: &[Sample], traded: f64) -> Statistics {
    let (mut highest, mut drawdown_max) = (f64::NEG_INFINITY, 0.0_f64);
    for sample in samples {
        highest = highest.max(sample.equity);
        drawdown_max = drawdown_max.max(highest - sample.equity);
    }
    let last = samples.last().map_or(0.0, |sample| sample.equity);
    let even = samples.get(..samples.len().saturating_sub(1)).unwrap_or_default();
    let steps: Vec<f64> = even.windows(2).map(|pair| pair[1].equity - pair[0].equity).collect();
    let apart = even.windows(2).next().map_or(0, |pair| pair[1].at.since(pair[0].at).0);
    let count = steps.len() as f64;
    let mean = steps.iter().sum::<f64>() / count;
    let year = (DAY_NS / apart as f64 * DAYS).sqrt();
    let square = |sum: f64| (sum / (count - 1.0)).sqrt();
    let deviation = square(steps.iter().map(|step| (step - mean).powi(2)).sum());
    let losses = (steps.iter().map(|step| step.min(0.0).powi(2)).sum::<f64>() / count).sqrt();
    let ratio = |by: f64| Some(mean / by * year).filter(|it| by > 0.0 && it.is_finite());
    Statistics {
        samples: samples.len(),
        sharpe: ratio(deviation),
        sortino: ratio(losses),
        drawdown_max,
        return_over_trade: (traded > 0.0).then(|| last / traded),
    }
}

#[cfg(test)]
mod tests {
    use taut_types::Nanos;

    use super::*;

    fn samples(equity: &[f64]) -> Vec<Sample> {
        let at = |at: i64| Nanos::from_secs(10 * at);
        let sample = |(at, equity)| Sample { at, equity, fee: 0.0, positions: Vec::new() };
        (0..).map(at).zip(equity.iter().copied()).map(sample).collect()
    }

    #[test]
    fn figures_are_those_of_their_formulas() {
        // Steps 1, -2, 3; the last value is that of the end.
        let told = statistics(&samples(&[0.0, 1.0, -1.0, 2.0, 1.5]), 100.0);
        let (mean, year) = (2.0_f64 / 3.0, (8_640.0 * 252.0_f64).sqrt());
        let squares = [1.0, -2.0, 3.0].map(|step: f64| (step - mean).powi(2));
        let deviation = (squares.iter().sum::<f64>() / 2.0).sqrt();
        assert!((told.sharpe.unwrap() - mean / deviation * year).abs() < 1e-9);
        assert!((told.sortino.unwrap() - mean / (4.0_f64 / 3.0).sqrt() * year).abs() < 1e-9);
        assert_eq!((told.samples, told.drawdown_max), (5, 2.0));
        assert_eq!(told.return_over_trade, Some(0.015));
    }

    #[test]
    fn of_nothing_there_are_no_ratios() {
        for values in [&[][..], &[0.0], &[0.0, 0.0], &[0.0, 1.0, 2.0]] {
            let told = statistics(&samples(values), 0.0);
            assert_eq!((told.sharpe, told.sortino, told.return_over_trade), (None, None, None));
        }
    }
}
