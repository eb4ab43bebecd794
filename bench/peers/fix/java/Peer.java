// QuickFIX/J as a peer of taut: for tests (one side of a session) and for measuring (both sides).
//
//   java Peer initiator PORT DICTIONARY | acceptor DICTIONARY | bench COUNT DICTIONARY
//
// It prints the same lines as ../go/main.go.

import java.net.ServerSocket;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import quickfix.*;

public final class Peer {
    static final SessionID GUEST = new SessionID("FIX.4.4", "GUEST", "HOST");
    static final int DISTINCT = 4096;

    public static void main(String[] args) throws Exception {
        switch (args.length == 0 ? "" : args[0]) {
            case "initiator" -> initiate(args[1], args[2]);
            case "acceptor" -> accept(args[1]);
            case "bench" -> measure(Integer.parseInt(args[1]), args[2]);
            default -> {
                System.err.println(
                    "initiator PORT DICTIONARY | acceptor DICTIONARY | bench COUNT DICTIONARY");
                System.exit(2);
            }
        }
        System.exit(0);
    }

    static SessionSettings settings(
            String role, String us, String them, String port, String dictionary)
            throws ConfigError {
        SessionID id = new SessionID("FIX.4.4", us, them);
        SessionSettings settings = new SessionSettings();
        String[] pairs = {
            "ConnectionType", role, "SocketConnectHost", "127.0.0.1", "SocketConnectPort", port,
            "SocketAcceptAddress", "127.0.0.1", "SocketAcceptPort", port, "HeartBtInt", "30",
            "ReconnectInterval", "1", "StartTime", "00:00:00", "EndTime", "00:00:00",
            "SocketTcpNoDelay", "Y", "UseDataDictionary", dictionary.equals("-") ? "N" : "Y",
            "BeginString", "FIX.4.4", "SenderCompID", us, "TargetCompID", them,
        };
        for (int at = 0; at < pairs.length; at += 2) {
            settings.setString(id, pairs[at], pairs[at + 1]);
        }
        if (!dictionary.equals("-")) {
            settings.setString(id, "DataDictionary", dictionary);
        }
        return settings;
    }

    static String freePort() throws Exception {
        try (ServerSocket socket = new ServerSocket(0)) {
            return Integer.toString(socket.getLocalPort());
        }
    }

    static Message order(int number) {
        Message message = new Message();
        message.getHeader().setString(35, "D");
        message.setString(11, "order-" + number);
        message.setString(21, "1");
        message.setString(38, "100");
        message.setString(40, "1");
        message.setString(54, "1");
        message.setString(55, "BTC-USD");
        message.setUtcTimeStamp(60, LocalDateTime.now(ZoneOffset.UTC), true);
        return message;
    }

    static Message testRequest() {
        Message message = new Message();
        message.getHeader().setString(35, "1");
        message.setString(112, "PING");
        return message;
    }

    /** What happens, line by line. */
    static class Story extends ApplicationAdapter {
        final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

        @Override public void onLogon(SessionID id) {
            lines.add("logon");
        }

        @Override public void onLogout(SessionID id) {
            lines.add("logout");
        }

        @Override public void fromAdmin(Message message, SessionID id) throws FieldNotFound {
            if (message.getHeader().getString(35).equals("0") && message.isSetField(112)) {
                lines.add("heartbeat " + message.getString(112));
            }
        }

        @Override public void fromApp(Message message, SessionID id) throws FieldNotFound {
            Message.Header header = message.getHeader();
            boolean again = header.isSetField(43) && header.getBoolean(43);
            lines.add((again ? "again " : "order ") + message.getString(11));
        }

        void expect(String line) throws Exception {
            long deadline = System.nanoTime() + 10_000_000_000L;
            String said;
            do {
                said = lines.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                if (said == null) {
                    throw new IllegalStateException("no \"" + line + "\" within 10 s");
                }
                System.out.println(said);
            } while (!said.equals(line));
        }
    }

    static void send(Story story, Message message, String expected) throws Exception {
        Session.sendToTarget(message, GUEST);
        story.expect(expected);
    }

    static void initiate(String port, String dictionary) throws Exception {
        Story story = new Story();
        SessionSettings settings = settings("initiator", "GUEST", "HOST", port, dictionary);
        SocketInitiator initiator = new SocketInitiator(
            story, new MemoryStoreFactory(), settings, null, new DefaultMessageFactory());
        initiator.start();
        story.expect("logon");
        for (int number = 1; number <= 3; number++) {
            send(story, order(number), "order order-" + number);
        }
        send(story, testRequest(), "heartbeat PING");
        // As if the echoes had been lost: the next one is too high, and they come again. (The last
        // message may still be in work: its number is counted behind the callback.)
        Thread.sleep(50);
        Session session = Session.lookupSession(GUEST);
        session.setNextTargetMsgSeqNum(2);
        send(story, order(4), "order order-4");
        // As if two messages of ours had been lost.
        Thread.sleep(50);
        session.setNextSenderMsgSeqNum(session.getExpectedSenderNum() + 2);
        send(story, order(5), "order order-5");
        initiator.stop();
        story.expect("logout");
    }

    static void accept(String dictionary) throws Exception {
        String port = freePort();
        Story story = new Story() {
            boolean isLossy;

            @Override public void fromApp(Message message, SessionID id) throws FieldNotFound {
                super.fromApp(message, id);
                String order = message.getString(11);
                try {
                    // As if messages had been lost both ways, once.
                    if (order.equals("order-2") && !isLossy) {
                        isLossy = true;
                        Session session = Session.lookupSession(id);
                        session.setNextSenderMsgSeqNum(session.getExpectedSenderNum() + 2);
                        session.setNextTargetMsgSeqNum(1);
                        Session.sendToTarget(testRequest(), id);
                    }
                    Session.sendToTarget(order(Integer.parseInt(order.substring(6))), id);
                } catch (SessionNotFound | java.io.IOException gone) {
                    lines.add("gone");
                }
            }
        };
        SessionSettings settings = settings("acceptor", "HOST", "GUEST", port, dictionary);
        SocketAcceptor acceptor = new SocketAcceptor(
            story, new MemoryStoreFactory(), settings, null, new DefaultMessageFactory());
        acceptor.start();
        System.out.println("listening " + port);
        story.expect("logout");
        // It is told of before the answer is sent.
        Thread.sleep(200);
        acceptor.stop();
    }

    // The orders and reports of `taut-bench fix`: 16 and 22 fields, about 174 and 228 bytes.

    static String price(int number) {
        int cents = number * 131 % 9973 + 1;
        return (100 + cents / 100) + "." + (char) ('0' + cents / 10 % 10) + (char) ('0' + cents % 10);
    }

    static long id(int number) {
        return 1_000_000_000L + number * 7919L % 999_999_937L;
    }

    static void common(Message message, int number) {
        message.setString(11, Long.toString(id(number)));
        message.setString(38, Integer.toString(100 + number * 37 % 900));
        message.setString(40, "2");
        message.setString(44, price(number));
        message.setString(54, number % 2 == 0 ? "1" : "2");
        message.setString(55, "BTC-USD");
        Instant at = Instant.ofEpochMilli(1_789_000_000_123L + number % 1000);
        message.setUtcTimeStamp(60, LocalDateTime.ofInstant(at, ZoneOffset.UTC), true);
    }

    static Message newOrder(int number) {
        number %= DISTINCT;
        Message message = new Message();
        message.getHeader().setString(35, "D");
        message.setString(1, "ACCT01");
        message.setString(21, "1");
        message.setString(59, "0");
        common(message, number);
        return message;
    }

    static Message report(int number) {
        number %= DISTINCT;
        String quantity = Integer.toString(100 + number * 37 % 900);
        Message message = new Message();
        message.getHeader().setString(35, "8");
        message.setString(6, price(number));
        message.setString(14, quantity);
        message.setString(17, Long.toString(id(number) + 7));
        message.setString(31, price(number));
        message.setString(32, quantity);
        message.setString(37, Long.toString(id(number) + 3));
        message.setString(39, "2");
        message.setString(150, "F");
        message.setString(151, "0");
        common(message, number);
        return message;
    }

    /** A report for each order. */
    static final class Venue extends ApplicationAdapter {
        int number;

        @Override public void fromApp(Message message, SessionID id) {
            try {
                Session.sendToTarget(report(number++), id);
            } catch (SessionNotFound gone) {
                throw new IllegalStateException(gone);
            }
        }
    }

    /** Waits for one report at a time. */
    static final class Client extends ApplicationAdapter {
        final BlockingQueue<Integer> up = new LinkedBlockingQueue<>();
        final SynchronousQueue<Integer> back = new SynchronousQueue<>();

        @Override public void onLogon(SessionID id) {
            up.add(1);
        }

        @Override public void fromApp(Message message, SessionID id) {
            try {
                back.put(1);
            } catch (InterruptedException end) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static void measure(int trips, String dictionary) throws Exception {
        String port = freePort();
        SessionSettings theirs = settings("acceptor", "VENUE", "CLIENT", port, dictionary);
        SessionSettings ours = settings("initiator", "CLIENT", "VENUE", port, dictionary);
        Client client = new Client();
        SocketAcceptor acceptor = new SocketAcceptor(
            new Venue(), new MemoryStoreFactory(), theirs, null, new DefaultMessageFactory());
        acceptor.start();
        SocketInitiator initiator = new SocketInitiator(
            client, new MemoryStoreFactory(), ours, null, new DefaultMessageFactory());
        initiator.start();
        client.up.take();
        SessionID id = new SessionID("FIX.4.4", "CLIENT", "VENUE");
        long[] spans = new long[trips];
        // The first half warms up (the compiler, too) and is not counted.
        for (int number = -trips / 2; number < trips; number++) {
            long start = System.nanoTime();
            Session.sendToTarget(newOrder(number + trips), id);
            client.back.take();
            if (number >= 0) {
                spans[number] = System.nanoTime() - start;
            }
        }
        Arrays.sort(spans);
        System.out.printf(
            "{\"peer\": \"QuickFIX/J 2.3.2\", \"round_trips\": %d, \"rtt_ns\": "
                + "{\"p50\": %d, \"p99\": %d, \"p999\": %d}}%n",
            trips, spans[(trips - 1) / 2], spans[(int) ((trips - 1) * 0.99)],
            spans[(int) ((trips - 1) * 0.999)]);
        initiator.stop(true);
        acceptor.stop(true);
    }
}
