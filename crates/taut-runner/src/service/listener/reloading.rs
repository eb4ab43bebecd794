//! A reload: the file is read again, and what differs is taken, all of it or nothing.
//!
//! Where instruments may come with it, one round of the venue's definitions is heard before: a new
//! instrument is what the venue says that it is. Meanwhile everybody else is listened to. Where the
//! snapshots come to an address of this host, the gateway's own socket alone hears them: there
//! patterns mean what they meant, and what the file says of a new instrument is taken as it is.

use taut_gateway::{DropCopyNews, NewInstrument};
use taut_log::messages as say;

use super::{Listener, tell_names};
use crate::service::file::{GatewayFile, StrategySettings};
use crate::service::new_instruments::new_instruments;
use crate::service::protocol::ControlReply;
use crate::service::reload::Differences;
use crate::service::reloading::Reloading;
use crate::service::threads::Command;

/// What a reload comes to: what differs, or why nothing was taken.
type Reloaded = Result<Vec<String>, String>;

impl Listener<'_> {
    /// Reads the file again and takes it; nothing where the venue is to define its instruments
    /// first: then [`go_on_reloading`](Self::go_on_reloading) tells what comes of it.
    pub(super) fn reload(&mut self) -> Option<Reloaded> {
        if self.reloading.is_some() {
            return Some(Err("a reload is under way".to_owned()));
        }
        let reloaded = match self.read_again() {
            Ok(file) if self.needs_definitions(&file) => match Reloading::begin(file) {
                Ok(reloading) => {
                    self.reloading = Some(reloading);
                    return None;
                }
                Err(error) => Err(format!("nothing was taken: {error}")),
            },
            Ok(file) => match self.as_it_runs(file) {
                Ok(file) => self.take_file(file),
                Err(error) => Err(format!("nothing was taken: {error}")),
            },
            Err(error) => Err(format!("nothing was taken: {error}")),
        };
        self.tell_reloaded(&reloaded);
        Some(reloaded)
    }

    fn read_again(&self) -> Result<GatewayFile, String> {
        let path = self.file.source.as_ref().ok_or("these settings did not come from a file")?;
        let file = match self.file.is_paper {
            true => GatewayFile::read_on_paper(path),
            false => GatewayFile::read_again(path),
        };
        file.map_err(|error| error.to_string())
    }

    /// Whether what the venue defines is to be heard first, and can be.
    fn needs_definitions(&self, file: &GatewayFile) -> bool {
        let has_more = file.instruments.len() > self.file.instruments.len();
        // Another venue is refused as it is.
        let venue = file.venue.as_ref().filter(|venue| self.file.venue.as_ref() == Some(venue));
        self.file.takes_instruments()
            && venue.is_some_and(|venue| venue.snapshot.ip().is_multicast())
            && (has_more || !file.subscribe.is_empty())
    }

    /// The file with the instruments that its patterns meant when the gateway started.
    fn as_it_runs(&self, file: GatewayFile) -> Result<GatewayFile, String> {
        let file = file.subscribed_as(&self.file);
        if file.subscribed.is_none() && !file.subscribe.is_empty() {
            let text = "[[subscribe]], and [[instruments]] beside it, cannot change here: at a \
                        multicast group alone a gateway that runs hears what the venue defines";
            return Err(text.to_owned());
        }
        Ok(file)
    }

    /// Goes on with a reload that waits: the venue has defined its instruments, or was given up.
    pub(super) fn go_on_reloading(&mut self) {
        let Some(defined) = self.reloading.as_mut().and_then(Reloading::poll) else { return };
        let Some(reloading) = self.reloading.take() else { return };
        let file = reloading.into_file();
        let file = defined.and_then(|defined| match defined {
            Some(defined) => file.redefined(&defined, &self.file),
            None => self.without_definitions(file),
        });
        let file = file.map_err(|error| format!("nothing was taken: {error}"));
        let reloaded = file.and_then(|file| self.take_file(file));
        self.tell_reloaded(&reloaded);
        let reply = match reloaded {
            Ok(changes) => ControlReply::Reloaded { changes },
            Err(text) => ControlReply::Failed { text },
        };
        for connection in &mut self.connections {
            if std::mem::take(&mut connection.awaits_reload) {
                // One that is gone is seen to be when it is listened to.
                let _ = connection.channel.send(&reply, &[]);
            }
        }
    }

    /// The venue says nothing: limits are taken all the same, and new instruments are not.
    fn without_definitions(&mut self, file: GatewayFile) -> Result<GatewayFile, String> {
        let file = file.subscribed_as(&self.file);
        let at = file.venue.as_ref().map(|venue| venue.snapshot.to_string()).unwrap_or_default();
        let silent = format!("the venue has defined no instruments at {at} within 3 s");
        if file.instruments != self.file.instruments {
            return Err(format!("{silent}: without that no instrument is added"));
        }
        self.tell(&say::NoDefinitions {}, format!("{silent}; those that are traded stay"));
        Ok(file)
    }

    /// Takes the limits, then the instruments that come with them.
    fn take_file(&mut self, mut file: GatewayFile) -> Reloaded {
        file.room = Some(self.file.instruments_max());
        let Differences { fixed, free, added } = Differences::between(&self.file, &file);
        let kept = file.instruments.len().saturating_sub(added);
        let more = self.take_limits(&file, &fixed, kept);
        let more = more.map_err(|error| format!("nothing was taken: {error}"))?;
        let mut all = file.instruments.split_off(kept).into_iter();
        self.file = file;
        for new in more {
            self.add_instrument(&new).map_err(|error| {
                let symbol = new.instrument.symbol();
                format!("the limits were taken, and no instrument from {symbol} on: {error}")
            })?;
            self.file.instruments.extend(all.next());
        }
        Ok(free)
    }

    /// From here on the new limits hold. Returns the instruments that are to come.
    fn take_limits(
        &mut self,
        file: &GatewayFile,
        fixed: &[String],
        kept: usize,
    ) -> Result<Vec<NewInstrument>, String> {
        let fused = self.fused.as_ref().and_then(|name| file.strategy(name));
        if let Some(mistake) = fused.and_then(StrategySettings::mistake_when_fused) {
            return Err(mistake.to_string());
        }
        if let Some(why) = refused(&self.file, file, fixed, kept) {
            return Err(why);
        }
        let rules = file.rules().map_err(|error| error.to_string())?;
        let instruments = file.instruments().map_err(|error| error.to_string())?;
        let more = new_instruments(file, &instruments, &rules.risk.groups, kept);
        let (risk, watched) = (Box::new(rules.risk.clone()), Box::new(file.watched()));
        self.ask(Command::SetRules(risk, watched, Box::new(file.clone())))?;
        tell_names(&self.news, file);
        self.rules = rules;
        Ok(more)
    }

    /// Has the trading thread take an instrument, in a round of its housekeeping: what happens
    /// meanwhile waits for one of them at the most.
    fn add_instrument(&mut self, new: &NewInstrument) -> Result<(), String> {
        // Before the first order and the first execution in it.
        if let Some(journal) = self.file.order_journal() {
            journal.note_instruments(&[&self.instruments[..], &[new.instrument]].concat())?;
        }
        let _ = self.news.send(DropCopyNews::Instrument(new.instrument));
        self.ask(Command::AddInstrument(Box::new(new.clone())))?;
        self.instruments.push(new.instrument);
        Ok(())
    }

    fn tell_reloaded(&mut self, reloaded: &Reloaded) {
        match reloaded {
            Ok(changes) if changes.is_empty() => {
                self.tell(&say::Reloaded {}, "reloaded: nothing differs");
            }
            Ok(changes) => {
                self.tell(&say::Reloaded {}, format!("reloaded: {}", changes.join("; ")));
            }
            Err(error) => self.tell(&say::NotReloaded {}, format!("not reloaded, {error}")),
        }
    }
}

/// Why a file cannot take the place of the one that the gateway runs on, if so; `kept` instruments
/// are those that it trades.
fn refused(
    running: &GatewayFile,
    file: &GatewayFile,
    fixed: &[String],
    kept: usize,
) -> Option<String> {
    if !fixed.is_empty() {
        let keys = fixed.join(", ");
        return Some(format!(
            "{keys} cannot change while the gateway runs; end it and start it again"
        ));
    }
    let first = file.instruments.get(kept)?;
    if !running.takes_instruments() {
        return Some(format!(
            "instruments[{kept}] {}: a gateway on paper takes a new instrument when it is started \
             again",
            first.symbol
        ));
    }
    let (room, count) = (running.instruments_max(), file.instruments.len());
    (count > room).then(|| {
        format!(
            "gateway.instruments_max = {room}: the gateway has no room for {count} instruments; \
             write a larger number, end it and start it again"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::file::{
        BINANCE_GATEWAY_SAMPLE, DERIBIT_GATEWAY_SAMPLE, GATEWAY_SAMPLE, OKX_GATEWAY_SAMPLE,
    };
    use crate::settings::InstrumentSettings;

    /// A sample, and the same with one more instrument.
    fn files(sample: &str) -> [GatewayFile; 2] {
        let running: GatewayFile = toml::from_str(sample).expect("a file");
        let mut file = running.clone();
        let new = InstrumentSettings { symbol: "NEW".to_owned(), ..file.instruments[0].clone() };
        file.instruments.push(new);
        [running, file]
    }

    #[test]
    fn why_an_instrument_is_not_added_is_said() {
        let [running, file] = files(GATEWAY_SAMPLE);
        assert_eq!(refused(&running, &file, &[], 1), None);
        let full = GatewayFile { room: Some(1), ..running.clone() };
        let told = refused(&full, &file, &[], 1).expect("no room");
        assert!(told.contains("gateway.instruments_max = 1: the gateway has no room for 2"));
        let paper = running.on_paper();
        assert!(refused(&paper, &file, &[], 1).is_some_and(|it| it.contains("on paper")));
        for sample in [DERIBIT_GATEWAY_SAMPLE, BINANCE_GATEWAY_SAMPLE, OKX_GATEWAY_SAMPLE] {
            let [running, file] = files(sample);
            let kept = running.instruments.len();
            assert_eq!(refused(&running, &file, &[], kept), None);
            assert_eq!(refused(&running, &running, &[], kept), None);
            let told = refused(&running.on_paper(), &file, &[], kept).expect("on paper");
            assert!(told.contains("NEW") && told.contains("when it is started again"), "{told}");
        }
    }

    #[test]
    fn a_new_instrument_has_the_venues_name_or_its_symbol() {
        let [_, mut file] = files(DERIBIT_GATEWAY_SAMPLE);
        let (at, all) = (file.instruments.len() - 1, file.instruments().expect("right"));
        file.instruments[at].name = Some("BTC-25DEC26-100000-C".to_owned());
        let added = new_instruments(&file, &all, &[], at);
        assert_eq!(added[0].name, "BTC-25DEC26-100000-C");
        file.instruments[at].name = None;
        assert_eq!(new_instruments(&file, &all, &[], at)[0].name, "NEW");
    }

    #[test]
    fn a_new_instrument_has_the_files_fees_group_and_settlement() {
        let [_, mut file] = files(GATEWAY_SAMPLE);
        let new = &mut file.instruments[1];
        (new.maker_fee, new.currency) = (Some("0.5".to_owned()), Some("USD".to_owned()));
        let all = file.instruments().expect("right");
        let added = new_instruments(&file, &all, &[3, 5], 1);
        assert_eq!(added.len(), 1);
        assert_eq!((added[0].instrument, added[0].group), (all[1], 5));
        assert_eq!(added[0].fees.maker, 500_000_000);
        let quote = added[0].settlement.map(|it| it.quote.to_string());
        assert_eq!(quote.as_deref(), Some("USD"));
        assert_eq!(added[0].venue_number, all[1].id());
    }
}
