//! Turn by turn: the shortest of the slices of a turn, the median of the turns.

const TURNS: usize = 11;
/// Pieces of a turn, in which all alternate; the shortest counts, because others work on the
/// machine too.
const SLICES: usize = 15;

/// What a row of the table begins with.
pub const HEAD: &str =
    "| what | bytes | book ns | taut ns | peers: ns, ratio to taut |\n|---|---|---|---|---|";

/// Something to be timed: how many nanoseconds a pass over all frames took.
pub struct Runner<'a> {
    pub name: &'static str,
    pub pass: Box<dyn FnMut() -> f64 + 'a>,
}

/// Prints a row: `count` frames or orders in a pass, of so many bytes in the mean. The first runner
/// is the book alone, if there is one, and the next one is taut.
pub fn print(what: &str, bytes: usize, count: usize, runners: &mut [Runner<'_>]) {
    if std::env::args().nth(3).is_some_and(|row| !what.starts_with(&row)) {
        return;
    }
    let mut medians = vec![Vec::new(); runners.len()];
    for _ in 0..TURNS {
        let mut best = vec![f64::INFINITY; runners.len()];
        for _ in 0..SLICES {
            for (best, runner) in best.iter_mut().zip(runners.iter_mut()) {
                *best = best.min((runner.pass)() / count as f64);
            }
        }
        medians.iter_mut().zip(best).for_each(|(all, best)| all.push(best));
    }
    let medians: Vec<f64> = medians.into_iter().map(median).collect();
    let has_book = runners[0].name == "book";
    let book = if has_book { format!("{:.0}", medians[0]) } else { String::new() };
    let first = usize::from(has_book);
    let taut = medians[first];
    let peers = runners.iter().zip(&medians).skip(first + 1);
    let peers: Vec<String> =
        peers.map(|(peer, ns)| format!("{} {ns:.0}, **{:.2}**", peer.name, ns / taut)).collect();
    println!("| {what} | {bytes} | {book} | {taut:.0} | {} |", peers.join("; "));
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
