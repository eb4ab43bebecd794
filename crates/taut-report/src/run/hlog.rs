//! `stages.hlog`: every histogram of the run as an HdrHistogram log, version 1.3.
//!
//! The format is that of HdrHistogram's `HistogramLogWriter`: a header of comments, a legend, and
//! one line per histogram with its tag, start, length, maximum, and the V2 compressed histogram in
//! base 64. Values are nanoseconds; the maximum in the line is for people and in milliseconds (the
//! usual divisor of 1e6). Times are seconds after `BaseTime`.

use std::io::{self, Error, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use taut_lat::{Snapshot, VALUE_MAX};
use taut_types::Nanos;

use super::model::RunReport;

const LEGEND: &[u8] =
    b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
const NS_PER_MS: f64 = 1e6;
/// Its buckets (1/1024) divide ours (1/256): what it reads back is what we wrote.
const SIGNIFICANT_DIGITS: u8 = 3;

/// The log's bytes.
pub fn hlog(report: &RunReport) -> io::Result<Vec<u8>> {
    let all = report.stages().chain(report.wholes());
    let histograms = all.map(|named| (named.tag, named.histogram));
    let started = Nanos(report.started_utc_ns);
    histogram_log("Latency of a taut run", started, report.seconds, histograms)
}

/// An HdrHistogram log, version 1.3, of one interval: what it holds, when it began (UTC), how many
/// seconds it took, and each histogram of nanoseconds under its tag (a word without a comma).
///
/// # Errors
/// Only what the writer of the format says.
pub fn histogram_log<'a>(
    title: &str,
    started_utc: Nanos,
    seconds: f64,
    histograms: impl IntoIterator<Item = (&'a str, &'a Snapshot)>,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let started =
        SystemTime::UNIX_EPOCH + Duration::from_nanos(started_utc.0.max(0).unsigned_abs());
    IntervalLogWriterBuilder::new()
        .add_comment(&format!("[{title}, in nanoseconds]"))
        .add_comment("[Histogram log format version 1.3]")
        .with_start_time(started)
        .with_base_time(started)
        .begin_log_with(&mut bytes, &mut serializer)?;
    bytes.write_all(LEGEND)?;
    let mut log = IntervalLogWriterBuilder::new()
        .with_max_value_divisor(NS_PER_MS)
        .begin_log_with(&mut bytes, &mut serializer)?;
    let length = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    for (tag, snapshot) in histograms {
        let histogram = hdr_histogram(snapshot)?;
        log.write_histogram(&histogram, Duration::ZERO, length, Tag::new(tag))
            .map_err(Error::other)?;
    }
    Ok(bytes)
}

/// The same counts at the largest value of each bucket, which is never above the maximum.
fn hdr_histogram(snapshot: &Snapshot) -> io::Result<Histogram<u64>> {
    let mut histogram =
        Histogram::new_with_bounds(1, VALUE_MAX, SIGNIFICANT_DIGITS).map_err(Error::other)?;
    for bucket in snapshot.buckets() {
        let value = bucket.highest.min(snapshot.max());
        histogram.record_n(value, bucket.count).map_err(Error::other)?;
    }
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use std::str;

    use base64ct::{Base64, Encoding};
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::super::tests::{histogram_of, sample_report};
    use super::*;

    #[test]
    fn starts_with_the_header_of_version_1_3() {
        let bytes = hlog(&sample_report()).unwrap();
        let head: Vec<&str> = str::from_utf8(&bytes).unwrap().lines().take(6).collect();
        assert_eq!(
            head,
            [
                "#[Latency of a taut run, in nanoseconds]",
                "#[Histogram log format version 1.3]",
                "#[StartTime: 1795172103.000 (seconds since epoch)]",
                "#[BaseTime: 1795172103.000 (seconds since epoch)]",
                str::from_utf8(LEGEND).unwrap().trim_end(),
                "#[MaxValueDivisor: 1000000.000]",
            ]
        );
    }

    #[test]
    fn reads_back_with_equal_counts_and_percentiles() {
        let mut report = sample_report();
        report.path.stages[2] = histogram_of(&[0; 5_000]); // as in fused mode
        report.path.stages[3] = histogram_of(&[0, VALUE_MAX, u64::MAX]);
        let bytes = hlog(&report).unwrap();
        let intervals: Vec<_> = IntervalLogIterator::new(&bytes)
            .filter_map(|entry| match entry.unwrap() {
                LogEntry::Interval(interval) => Some(interval),
                _ => None,
            })
            .collect();
        let expected: Vec<_> = report.stages().chain(report.wholes()).collect();
        assert_eq!(intervals.len(), expected.len());
        for (interval, named) in intervals.iter().zip(expected) {
            assert_eq!(interval.tag().unwrap().as_str(), named.tag);
            let bytes = Base64::decode_vec(interval.encoded_histogram()).unwrap();
            let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            let summary = named.histogram.summary();
            assert_eq!(read.len(), summary.count);
            for (quantile, value) in
                [(0.5, summary.p50), (0.99, summary.p99), (0.999, summary.p999)]
            {
                let read = read.value_at_quantile(quantile).min(summary.max);
                assert_eq!(read, value, "{} at {quantile}", named.tag);
            }
        }
    }
}
