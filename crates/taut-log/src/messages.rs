//! The table of all messages, and a type for each.
//!
//! A code stays what it is for ever: a message that is not said any more leaves its number unused.

use core::net::SocketAddrV4;

use taut_types::InstrumentId;

use crate::code::{Code, Level, Message};
use crate::field::Field;
use crate::record::VALUES_MAX;

/// Each row: code, level, type and values; what happened, what it means, what to do.
macro_rules! messages {
    ($(
        $id:literal $level:ident $name:ident { $($field:ident: $type:ty),* }
        $summary:literal
        $means:literal
        $remedy:literal;
    )*) => {
        $(
            #[doc = concat!("`", $id, "`: ", $summary, ".")]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $name {
                $(#[doc = concat!("Its `", stringify!($field), "`.")] pub $field: $type,)*
            }

            impl Message for $name {
                const NUMBER: u16 = Number::$name as u16;

                #[inline]
                fn words(&self) -> [u64; VALUES_MAX] {
                    padded([$(self.$field.to_word()),*])
                }
            }
        )*

        /// Places in the table.
        enum Number { $($name),* }

        /// The names of the types.
        #[cfg(test)]
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// The table: every message, by code.
        pub const CODES: &[Code] = &[$(
            Code {
                id: $id,
                level: Level::$level,
                summary: $summary,
                means: $means,
                remedy: $remedy,
                fields: &[$((stringify!($field), <$type as Field>::KIND)),*],
            }
        ),*];
    };
}

#[inline]
fn padded<const N: usize>(words: [u64; N]) -> [u64; VALUES_MAX] {
    const { assert!(N <= VALUES_MAX) };
    let mut all = [0; VALUES_MAX];
    all.iter_mut().zip(words).for_each(|(to, from)| *to = from);
    all
}

messages! {
    "GW-0001" Info Started {}
    "the gateway can be found"
    "The gateway is built and listens at its control socket: strategies can attach, operators can \
     ask. Its session with the venue may not be up yet (GW-0101)."
    "Nothing.";

    "GW-0002" Notice OnPaper {}
    "orders stay within this process"
    "The gateway was started with --paper: market data are the venue's, orders go to a matching \
     engine of its own, and none leaves."
    "Nothing, if that is meant; otherwise start it without --paper.";

    "GW-0003" Info Recording {}
    "all that it hears is written down"
    "The gateway records its inputs in a folder, by [record] or --record, so that taut replay can \
     do them again."
    "See that the disk has room: what is recorded grows with the market.";

    "GW-0004" Info Ended {}
    "the gateway has ended"
    "It was asked to end (Ctrl-C, SIGTERM, taut gateway stop): open orders were cancelled, the \
     session was logged out. The line says how many orders are open all the same, and whether the \
     logout was answered."
    "Where orders are still open, or it was not logged out, look at the venue.";

    "GW-0005" Info Instruments {}
    "the venue's instruments are looked through"
    "[[subscribe]] names instruments by patterns, and the venue says which there are; the gateway \
     waits until it has."
    "If it waits for long, see whether the venue sends its definitions: taut gateway check --live.";

    "GW-0006" Error CannotAccept {}
    "nobody can connect to the control socket"
    "The system refuses new connections, most often because no file descriptor is left. The \
     gateway trades on and tries again."
    "Raise LimitNOFILE, or see who keeps connections open.";

    "GW-0007" Error Failed {}
    "the gateway failed"
    "It could not begin, or could not go on; the line says why. It has ended with exit code 1. \
     Orders may be open at the venue."
    "Mend what the line names, and start it again: with a [journal] it asks where its orders \
     stand.";

    "GW-0101" Info OrderEntryUp { address: SocketAddrV4 }
    "orders can be sent"
    "The session with the venue is logged on, all open orders were asked for and compared, and \
     positions too where [session] positions says so."
    "Nothing.";

    "GW-0102" Warning OrderEntryDown { open_orders: u64 }
    "orders cannot be sent"
    "The session ended or is being built anew. Requests under way have an unknown outcome and are \
     not sent again; after the next logon the venue is asked where all orders stand."
    "Nothing at first: it connects again by itself. If it does not, see GW-0103 and GW-0104.";

    "GW-0103" Error OrdersRefused {}
    "the venue refused the session for orders"
    "The venue answered the logon with a reason, which the line has."
    "See whether the key is valid, may trade, and is allowed from this address; whether the clock \
     is right; whether sequence numbers agree ([session] store, reset_on_logon).";

    "GW-0104" Warning Unreachable { address: SocketAddrV4 }
    "the venue cannot be reached for orders"
    "A connection could not be made; the line has the system's reason. It is tried again, with a \
     back-off up to [session] reconnect_ms, at the next of the venue's addresses."
    "See whether the address is right and the network lets it pass: taut gateway check --live.";

    "GW-0105" Warning Disconnected { count: u64, total: u64 }
    "the connection for orders ended unasked"
    "The venue or the network closed it. It is made again at once, and then with a back-off."
    "If it repeats: look at the venue's status page, and at limits of connections and of rates.";

    "GW-0106" Error RequestsLost { count: u64, total: u64 }
    "the outcome of requests is not known"
    "A connection ended between a request and its answer, or the venue did not answer in time. \
     They are not sent again; the venue is asked where the orders stand."
    "Compare taut gateway orders with the venue's own page where one stays unknown.";

    "GW-0107" Error Troubles { count: u64, total: u64 }
    "a report does not fit the order"
    "The venue told something of an order that cannot follow what it told before. It is kept in \
     the quarantine with all that is known of it."
    "Look at taut gateway orders and at the venue's page; report it if the venue was right.";

    "GW-0108" Warning ForeignReports { count: u64, total: u64 }
    "reports of orders that are not ours"
    "The venue reports orders on this session that the gateway did not send: another program uses \
     the same account, or they are of a gateway without a journal."
    "Give each program its own account or session, or keep a [journal].";

    "GW-0109" Warning PositionsDiffer {}
    "positions are other ones at the venue"
    "After a logon the venue's positions were compared with ours, and some differ."
    "Find out which is right; [session] positions = \"repair\" takes the venue's, \"halt\" stops \
     the account.";

    "GW-0110" Warning PositionsUntold { count: u64, total: u64 }
    "the venue did not tell its positions"
    "It was asked after a logon and did not answer in time. Trading goes on with our own."
    "Compare them by hand: taut gateway positions.";

    "GW-0111" Notice PositionsRepaired { count: u64, total: u64 }
    "positions were made the venue's"
    "[session] positions = \"repair\": what the venue says holds from now on."
    "Find out what the gateway had not heard.";

    "GW-0112" Warning RateLimited { count: u64, total: u64 }
    "the venue refused requests: too many in a time"
    "The venue's limit is lower than the gateway's own budget for it."
    "Lower [risk] orders_per_second and its like below the venue's limit.";

    "GW-0201" Warning BooksStale { instrument: InstrumentId, stale: u64 }
    "books cannot be trusted"
    "Market data are missing for so many books; the line names the first and why. No order passes \
     the risk check in them, and strategies are told."
    "Nothing at first: recovery is under way (GW-0202 ends it). If it lasts, see the other GW-02 \
     codes.";

    "GW-0202" Info BooksSound { recovered: u64, snapshots: u64 }
    "all books can be trusted"
    "Every book has the venue's state: the first time after the start, or after a recovery; the \
     line has the packets that were covered, and the snapshots that were loaded, since the start."
    "Nothing.";

    "GW-0203" Warning Gaps { count: u64, total: u64 }
    "market data are missing"
    "Numbered packets did not come, on any line. They are asked for again or covered by snapshots."
    "If it repeats: taut doctor (receive buffers, ring sizes of the card), then the network.";

    "GW-0204" Warning LineSilent { count: u64, total: u64 }
    "a line of the feed fell silent"
    "One of the two lines brought nothing while it should; the other one goes on."
    "See whether its multicast group is joined and its switch port up.";

    "GW-0205" Warning ChannelsSilent { count: u64, total: u64 }
    "books were silent while others moved"
    "The channel of a book brought nothing for too long; it is subscribed to anew."
    "Nothing, unless it repeats; then ask the venue.";

    "GW-0206" Warning Malformed { count: u64, total: u64 }
    "packets that are none of this feed"
    "What arrived cannot be read as the feed says it must be; nothing of it was applied."
    "See whether something else sends to this address, or the venue changed its schema.";

    "GW-0207" Notice UnknownFrames { count: u64, total: u64 }
    "frames that the venue does not document"
    "They are passed over."
    "Look into the venue's change notes; report it.";

    "GW-0208" Error BooksCrossed { count: u64, total: u64 }
    "a book's best bid was not below its best offer"
    "What was applied cannot be the venue's book; it is stale until a snapshot."
    "If it repeats: keep a recording (taut gateway --record) and report it.";

    "GW-0209" Error ChecksumsFailed { count: u64, total: u64 }
    "a book has not the venue's checksum"
    "The book differs from the venue's; it is stale and subscribed to anew."
    "If it repeats: keep a recording (taut gateway --record) and report it.";

    "GW-0210" Warning LevelsRefused { count: u64, total: u64 }
    "a book has no room for more levels"
    "[gateway] levels is smaller than the venue's book; such a book is stale."
    "Raise [gateway] levels, and start again.";

    "GW-0211" Warning StreamDisconnected { count: u64, total: u64 }
    "a connection for market data ended unasked"
    "The books behind it are stale until it stands again, which is tried with a back-off."
    "If it repeats: look at the venue's status page and at its limits of connections.";

    "GW-0212" Error StreamRefused { count: u64, total: u64 }
    "the venue refused requests for market data"
    "A subscription or a logon for market data was not granted; the line has the venue's reason."
    "See whether the names of instruments are right and the key may read market data.";

    "GW-0213" Error NotGranted { count: u64, total: u64 }
    "the venue left channels out of what it granted"
    "Some books will bring nothing."
    "See whether these instruments exist: taut gateway status names the stale ones.";

    "GW-0214" Error ReceiveFailed { count: u64, total: u64 }
    "a socket of the feed failed"
    "A receive call failed; the line counts as silent."
    "Look at the interface: whether it is up, and has its address.";

    "GW-0215" Notice FeedBackup { count: u64, total: u64 }
    "the feed's other addresses were taken"
    "Those in use brought nothing for [feed_backup] after_ms, or could not make the books sound."
    "See what became of the first ones.";

    "GW-0216" Warning TradesMissed { count: u64, total: u64 }
    "numbers of trades were jumped over"
    "The venue numbers trades one by one, and some did not come."
    "Nothing for books; a program that needs all trades asks the venue for them.";

    "GW-0401" Error Killed {}
    "killed"
    "Nothing new passes in this scope, and its open orders are cancelled, until somebody revives \
     it. The line has the scope and the cause: a command, a signal, a loss limit, a timer that \
     nobody refreshed, or reference data that differ."
    "Find the cause; then taut gateway revive with the same scope.";

    "GW-0402" Notice Revived {}
    "revived"
    "New orders pass again in this scope, as far as no other one that it is in is killed."
    "Nothing.";

    "GW-0403" Warning BudgetLow {}
    "a budget of messages is nearly spent"
    "So many requests were sent that the next ones may have to wait or be refused; cancels keep a \
     part of their own."
    "See which strategy sends so much, or raise the limit where the venue grants more.";

    "GW-0404" Notice HandedOver {}
    "open orders have another owner"
    "An operator, or when_gone in the file, handed the orders of a strategy over to another one."
    "Nothing.";

    "GW-0501" Error Unjournalled { count: u64, total: u64 }
    "the order journal could not take entries"
    "The thread that makes segments is behind, or the disk is full: after a crash these would be \
     missing."
    "Free room on the journal's disk, or give it a faster one: taut doctor.";

    "GW-0502" Error JournalTrouble {}
    "the order journal has trouble"
    "A segment could not be made, synchronised or removed; the line has the file and the reason."
    "Free room, or mend the disk; the gateway trades on while there are segments left.";

    "GW-0503" Error DropCopiesLost { count: u64, total: u64 }
    "drop copies were lost"
    "Their thread was too far behind: their readers miss executions."
    "See what keeps it: its disk ([drop_copy] store) or its CPU.";

    "GW-0504" Warning DropCopyCorrections { count: u64, total: u64 }
    "the venue's drop copies said what the order session had not"
    "The order session missed reports; the copies put it right."
    "If it repeats: ask the venue.";

    "GW-0505" Error RecordingFull {}
    "the recording takes no more"
    "Its disk is full or too slow; with [record] when_full = \"stop\" the gateway ends."
    "Free room, or record on a faster disk.";

    "GW-0506" Notice CopiesTold {}
    "how the sessions of drop copies fare"
    "Of copies that readers get ([drop_copy]) or that are read at the venue ([drop_copy_reader]): \
     that a session stands or ended, who was refused, what could not be sent."
    "Nothing where they are read; otherwise see what the line names.";

    "GW-0601" Info StrategyAttached {}
    "a strategy is attached"
    "A process of its own has the gateway's shared memory and can send orders."
    "Nothing.";

    "GW-0602" Info StrategyLeft {}
    "a strategy has left"
    "Its connection ended; its open orders are cancelled, kept or handed over, as when_gone says."
    "Nothing, if that is meant.";

    "GW-0603" Error StrategyDropped {}
    "a strategy was dropped"
    "It left so many replies unread that there was no room for the next one."
    "See what kept it; its open orders are cancelled, kept or handed over, as when_gone says.";

    "GW-0701" Notice Reloaded {}
    "the settings were read again"
    "SIGHUP or taut gateway reload: the limits and new instruments of the file hold; the line has \
     what differs."
    "Nothing.";

    "GW-0702" Error NotReloaded {}
    "the settings were not taken"
    "The file has a mistake, or changes what cannot change while the gateway runs; nothing of it \
     was taken, or the line says from where on."
    "Mend what the line names, and reload again.";

    "GW-0703" Warning NoDefinitions {}
    "the venue does not define its instruments"
    "A reload waited for the venue's definitions in vain: limits were taken, instruments stay."
    "See whether the venue sends its snapshots, and reload again.";

    "GW-0704" Info DayEnded {}
    "the day is over"
    "Positions were settled: profit, fees and losses count from 0. A snapshot is written where \
     [risk] snapshot_folder says so."
    "Nothing.";

    "GW-0705" Error NoSnapshot {}
    "the day's snapshot could not be written"
    "The day is settled all the same; the line has the file and the reason."
    "Mend the folder's rights or its room; taut gateway snapshot FILE prints what is now.";

    "LG-0001" Warning Lost { lost: u64 }
    "messages were lost"
    "More was said at once than the log's ring has room for; what was lost is counted here and \
     nowhere else. Counters (taut gateway status, taut metrics) lose nothing."
    "Nothing, if it is rare; otherwise see what is said so often.";

    "VN-0001" Info VenueListens {}
    "the venue takes orders"
    "The venue simulator listens; the line has where."
    "Nothing.";

    "VN-0002" Info RecordingEnded {}
    "a recording that is a market came to its end"
    "It begins anew, or its book stays as it was, as `repeat` of [[recordings]] says."
    "Nothing.";

    "VN-0003" Warning NotServed {}
    "connections were not served"
    "So many came at once that some were turned away, or they did not log on in time."
    "See who connects so often.";

    "VN-0004" Notice MemberCopiesTold {}
    "how the sessions of members' drop copies fare"
    "A reader was refused, or a copy could not be sent or kept."
    "See what the line names.";

    "VN-0005" Error VenueFailed {}
    "the venue failed"
    "It could not begin, or could not go on; the line says why. It has ended with exit code 1."
    "Mend what the line names.";

    "VN-0006" Info VenueJournalOpened {}
    "the venue has taken up its journal"
    "The line says how many inputs were executed once more, and what was open then."
    "Nothing.";

    "VN-0007" Error VenueJournalTrouble {}
    "the venue's journal has trouble"
    "A segment could not be made; the line has the file and the reason. The venue goes on in those \
     that it has, and ends when they are full: what is not written down is not acknowledged."
    "Free room, or mend the disk.";

    "VN-0008" Info VenueStandsBy {}
    "the standby is level with its venue"
    "It has executed every input that the venue has written down, and goes on so. When the venue \
     ends, in whatever way, the standby takes its place."
    "Nothing.";

    "VN-0009" Notice VenueTookOver {}
    "the standby has taken the place of its venue"
    "The venue ended, or was killed. Its orders, positions and sessions go on here, and clients \
     can connect again; the line says how long that took."
    "See why the venue ended, and start a standby again.";

    "VN-0010" Notice VenueCopied {}
    "how the copy of the venue's journal elsewhere fares"
    "A standby has begun to copy the journal, its connection ended and is made again, or a stop \
     signal came while answers waited for it; the line says which. With `acknowledge = \
     \"replicated\"` nobody is answered without a copy."
    "Start the standby, or mend what is between the two.";
}
