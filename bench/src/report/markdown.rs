//! The report as Markdown.

use std::fmt;

use super::{Check, Load, Quantity, Report, Row, Start};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} cores. Medians; ± is half of the range of all runs, which is written out where it is wider than that.\n",
            self.cores
        )?;
        writeln!(
            f,
            "| what | skillwire | reference | of reference | best peer | times better | target | |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for row in &self.rows {
            row.write(f)?;
        }
        self.write_peers(f)?;
        self.write_starts(f)?;
        self.write_loads(f)?;
        for note in self.notes.iter().chain(&self.broken) {
            writeln!(f, "\n{note}")?;
        }
        Ok(())
    }
}

impl Row {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quantity = self.quantity;
        let reference = self.reference.as_ref().map_or_else(dash, |reference| {
            format!("{} ({})", quantity.show_summary(&reference.value), reference.what)
        });
        let peer = self.best_peer().map_or_else(dash, |(name, value)| {
            format!("{} ({name})", quantity.show_summary(&value))
        });
        let targets: Vec<_> = self.checks.iter().map(ToString::to_string).collect();
        writeln!(
            f,
            "| {} | {} | {reference} | {} | {peer} | {} | {} | {} |",
            self.what,
            quantity.show_summary(&self.skillwire),
            self.of_reference().map_or_else(dash, times),
            self.of_best_peer().map_or_else(dash, times),
            targets.join("; "),
            Check::verdict(self),
        )
    }
}

impl Report {
    fn write_peers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<_> = self.rows.iter().filter(|row| !row.peers.is_empty()).collect();
        let Some(first) = rows.first() else { return Ok(()) };
        write!(f, "\nEach peer:\n\n| what |")?;
        for peer in &first.peers {
            write!(f, " {} |", peer.name)?;
        }
        write!(f, "\n|---|")?;
        for _ in &first.peers {
            write!(f, "---|")?;
        }
        writeln!(f)?;
        for row in rows {
            write!(f, "| {} |", row.what)?;
            for peer in &row.peers {
                match &peer.value {
                    Ok(value) => write!(f, " {} |", row.quantity.show_summary(value))?,
                    Err(reason) => write!(f, " no: {} |", reason.replace(['|', '\n'], " "))?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn write_starts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.starts.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nEach start (medians):\n\n| what | who | time | processor time |")?;
        writeln!(f, "|---|---|---|---|")?;
        for Start { what, who, seconds, cpu } in &self.starts {
            let (seconds, cpu) = (Quantity::Time.show(*seconds), Quantity::Time.show(*cpu));
            writeln!(f, "| {what} | {who} | {seconds} | {cpu} |")?;
        }
        Ok(())
    }

    fn write_loads(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.loads.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nEach load (medians of the rounds; processor time is per request):\n")?;
        writeln!(f, "| what | who | requests | p50 | p99 | server's CPU | generator's CPU |")?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for load in &self.loads {
            let Load { what, who, per_second, p50_micros, p99_micros, .. } = load;
            let (server, client) = (load.server_cpu_micros, load.client_cpu_micros);
            writeln!(
                f,
                "| {what} | {who} | {per_second:.0}/s | {p50_micros:.0} µs | {p99_micros:.0} µs | \
                 {server:.0} µs | {client:.0} µs |"
            )?;
        }
        Ok(())
    }
}

fn times(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.0}×") } else { format!("{ratio:.2}×") }
}

fn dash() -> String {
    "–".to_owned()
}
