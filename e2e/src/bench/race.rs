//! Laps of fedhub and of what it is compared with, in turn.

use super::Options;
use super::figure::Figure;
use super::laps::ERROR;
use super::stats::{number, rounded};
use crate::Error;

/// The results of both sides' laps.
#[derive(Debug)]
pub struct Race<O, B> {
    /// The results of fedhub.
    pub ours: Vec<O>,
    /// The results of the other side.
    pub bare: Vec<B>,
}

impl<O, B> Race<O, B> {
    /// Runs pairs of laps until the bars of all figures are decided. Every second pair begins with the other
    /// side: what changes steadily, such as the size of etcd, weighs on both.
    pub async fn run(
        options: &Options,
        mut ours: impl AsyncFnMut(usize) -> Result<O, Error>,
        mut bare: impl AsyncFnMut(usize) -> Result<B, Error>,
        figures: impl Fn(&Self, f64) -> Vec<Figure>,
    ) -> Result<(Self, Vec<Figure>), Error> {
        let mut race = Self { ours: Vec::new(), bare: Vec::new() };
        let mut laps = options.laps();
        while let Some(lap) = laps.begin() {
            if lap % 2 == 0 {
                race.ours.push(ours(lap).await?);
                race.bare.push(bare(lap).await?);
            } else {
                race.bare.push(bare(lap).await?);
                race.ours.push(ours(lap).await?);
            }
            let so_far: Vec<_> = figures(&race, ERROR).iter().map(Figure::to_string).collect();
            options.progress.step(format!("lap {lap}: {}", so_far.join("; ")));
            laps.judge(|error| figures(&race, error));
        }
        Ok((race, laps.figures()))
    }

    /// A number of fedhub's lap divided by one of the other side's, for each pair.
    pub fn ratios(&self, ours: impl Fn(&O) -> f64, bare: impl Fn(&B) -> f64) -> Vec<f64> {
        self.ours.iter().zip(&self.bare).map(|(o, b)| ours(o) / bare(b)).collect()
    }

    /// A number of each lap of fedhub.
    pub fn each(&self, number: impl Fn(&O) -> f64) -> Vec<f64> {
        self.ours.iter().map(number).collect()
    }
}

/// Numbers for the details of a report.
pub fn digits(values: &[f64], digits: i32) -> Vec<f64> {
    values.iter().map(|value| rounded(*value, digits)).collect()
}

/// Returns how many of `count` objects a second each of the laps, which took `seconds`, processed.
pub fn rates(count: usize, seconds: &[f64]) -> Vec<f64> {
    seconds.iter().map(|seconds| rounded(number(count) / seconds, 2)).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::judge::Bar;
    use super::*;

    fn options(laps: usize) -> Options {
        Options { laps, ..Options::for_tests() }
    }

    async fn raced(laps: usize, ratios: &[f64]) -> (Vec<String>, Vec<Figure>) {
        let order = RefCell::new(Vec::new());
        let (race, figures) = Race::run(
            &options(laps),
            async |lap| {
                order.borrow_mut().push(format!("o{lap}"));
                Ok(ratios[lap % ratios.len()])
            },
            async |lap| {
                order.borrow_mut().push(format!("b{lap}"));
                Ok(1.0)
            },
            |race: &Race<f64, f64>, error| {
                let ratios = race.ratios(|ours| *ours, |bare| *bare);
                vec![Figure::ratio("", "", &ratios).within(Bar::at_least(0.9), error)]
            },
        )
        .await
        .unwrap();
        assert_eq!(race.ours.len(), race.bare.len());
        (order.into_inner(), figures)
    }

    #[tokio::test]
    async fn sides_take_turns_in_who_begins_and_end_at_the_first_look_that_decides() {
        let (order, figures) = raced(12, &[1.20, 1.21, 1.19]).await;
        assert_eq!(order, ["o0", "b0", "b1", "o1", "o2", "b2"]);
        assert_eq!(figures[0].laps, [1.20, 1.21, 1.19]);
    }

    #[tokio::test]
    async fn laps_that_decide_nothing_end_at_the_maximum() {
        for most in [1, 2, 4, 12] {
            let (order, figures) = raced(most, &[0.8, 1.0]).await;
            assert_eq!(order.len(), 2 * most);
            assert_eq!(figures[0].verdict, Some(super::super::judge::Verdict::CannotTell), "{most}");
        }
    }
}
