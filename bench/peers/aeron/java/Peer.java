// A publisher or a subscriber over Aeron's Java media driver, embedded, for interop tests and as a
// peer to measure: `java -cp aeron-all.jar Peer.java send|receive CHANNEL STREAM COUNT`, or
// `throughput CHANNEL STREAM COUNT SIZE` with both ends in this process, which prints JSON.
//
// Messages: an 8-byte sequence, then bytes that follow from it, as in crates/taut-channel's tests.
// It prints one line for what happens: `joined`, `received N`, `sent N`; or `wrong ...` and exit
// code 1.

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import java.nio.ByteOrder;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.YieldingIdleStrategy;

public final class Peer {
    static int length(long sequence) {
        return 8 + (int) (sequence % 97) + (sequence % 50 == 0 ? 4000 : 0);
    }

    static byte filler(long sequence, int at) {
        return (byte) (sequence + at);
    }

    public static void main(String[] args) throws Exception {
        String role = args[0];
        String channel = args[1];
        int stream = Integer.parseInt(args[2]);
        long count = Long.parseLong(args[3]);
        MediaDriver.Context context = new MediaDriver.Context()
            .aeronDirectoryName(System.getProperty("aeron.dir"))
            .dirDeleteOnStart(true)
            .dirDeleteOnShutdown(true)
            .threadingMode(ThreadingMode.SHARED)
            .sharedIdleStrategy(new BackoffIdleStrategy(100, 100, 1_000, 100_000))
            .publicationTermBufferLength(64 * 1024);
        if (role.equals("throughput")) {
            context.sharedIdleStrategy(new YieldingIdleStrategy())
                .termBufferSparseFile(false)
                .performStorageChecks(false)
                .initialWindowLength(2 * 1024 * 1024)
                .socketSndbufLength(2 * 1024 * 1024)
                .socketRcvbufLength(2 * 1024 * 1024);
        }
        try (MediaDriver driver = MediaDriver.launch(context);
            Aeron aeron = Aeron.connect(
                new Aeron.Context().aeronDirectoryName(driver.aeronDirectoryName()))) {
            if (role.equals("throughput")) {
                // The first run warms the compiler up.
                int size = Integer.parseInt(args[4]);
                throughput(aeron, channel, stream, count / 4, size);
                double rate = throughput(aeron, channel, stream + 1, count, size);
                say(String.format("{\"peer\":\"aeron-java\",\"msgs_per_s\":%.0f}", rate));
                return;
            }
            if (role.equals("send")) {
                send(aeron, channel, stream, count);
            } else {
                receive(aeron, channel, stream, count);
            }
            // The one who started it says when it may go: repairs are answered until then.
            while (System.in.read() >= 0) {
                Thread.onSpinWait();
            }
        }
    }

    static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    static double throughput(Aeron aeron, String channel, int stream, long count, int size)
        throws Exception {
        long[] next = {0};
        FragmentHandler handler = (buffer, offset, length, header) -> {
            if (buffer.getLong(offset, ByteOrder.LITTLE_ENDIAN) != next[0]) {
                say("wrong: message after " + next[0]);
                Runtime.getRuntime().halt(1);
            }
            next[0]++;
        };
        long[] begun = {0};
        Thread sender = new Thread(() -> {
            try (ExclusivePublication publication =
                aeron.addExclusivePublication(channel, stream)) {
                while (!publication.isConnected()) {
                    Thread.yield();
                }
                UnsafeBuffer buffer = new UnsafeBuffer(new byte[size]);
                begun[0] = System.nanoTime();
                for (long sequence = 0; sequence < count; sequence++) {
                    buffer.putLong(0, sequence, ByteOrder.LITTLE_ENDIAN);
                    while (publication.offer(buffer, 0, size) < 0) {
                        Thread.yield();
                    }
                }
                while (publication.isConnected()) {
                    Thread.yield();
                }
            }
        });
        try (Subscription subscription = aeron.addSubscription(channel, stream)) {
            sender.start();
            while (next[0] < count) {
                if (subscription.poll(handler, 64) == 0) {
                    Thread.yield();
                }
            }
        }
        long ended = System.nanoTime();
        sender.join();
        return count * 1e9 / (ended - begun[0]);
    }

    static void send(Aeron aeron, String channel, int stream, long count) throws Exception {
        try (Publication publication = aeron.addPublication(channel, stream)) {
            while (!publication.isConnected()) {
                Thread.sleep(1);
            }
            say("joined");
            UnsafeBuffer buffer = new UnsafeBuffer(new byte[8192]);
            for (long sequence = 0; sequence < count; sequence++) {
                int length = length(sequence);
                buffer.putLong(0, sequence, ByteOrder.LITTLE_ENDIAN);
                for (int at = 8; at < length; at++) {
                    buffer.putByte(at, filler(sequence, at));
                }
                while (publication.offer(buffer, 0, length) < 0) {
                    Thread.yield();
                }
            }
            say("sent " + count);
        }
    }

    static void receive(Aeron aeron, String channel, int stream, long count) throws Exception {
        long[] next = {-1};
        FragmentHandler handler = (buffer, offset, length, header) -> {
            long sequence = buffer.getLong(offset, ByteOrder.LITTLE_ENDIAN);
            boolean right = (next[0] < 0 || sequence == next[0]) && length == length(sequence);
            for (int at = 8; right && at < length; at++) {
                right = buffer.getByte(offset + at) == filler(sequence, at);
            }
            if (!right) {
                say("wrong: message " + sequence + " of " + length + " bytes after " + next[0]);
                Runtime.getRuntime().halt(1);
            }
            next[0] = sequence + 1;
        };
        FragmentAssembler assembler = new FragmentAssembler(handler);
        try (Subscription subscription = aeron.addSubscription(channel, stream,
            image -> say("joined"), image -> say("left"))) {
            while (next[0] < count) {
                if (subscription.poll(assembler, 50) == 0) {
                    Thread.yield();
                }
            }
            say("received " + next[0]);
            while (!subscription.hasNoImages()) {
                subscription.poll(assembler, 50);
                Thread.sleep(1);
            }
        }
    }
}
