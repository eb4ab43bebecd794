/* Peers of ZeroMQ's wire, on one machine: libzmq, and bare TCP sockets that do only what the kernel makes them do.
 *
 *   peers zmq-throughput COUNT SIZE      XPUB that never drops, to SUB, over tcp
 *   peers tcp-throughput COUNT SIZE      frames of SIZE + 2 bytes, written together, read as bytes
 *   peers tcp-messages COUNT SIZE        the same, as messages: two times and a sequence in each, every frame looked at,
 *                                        every sequence checked, both latencies recorded
 *   peers zmq-round-trip COUNT SIZE      PAIR, blocking
 *   peers tcp-round-trip COUNT SIZE      one frame there and back, both ends spinning
 *   peers tcp-one-way COUNT SIZE RATE    a frame at its time, from its send call to its receipt, both ends spinning
 *
 * Two processes, the sender on CPU 1 and the receiver on CPU 0 (libzmq's I/O threads unpinned, as it wants them). Prints
 * one line of JSON. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "../common.h"

enum { BATCH_BYTES = 64 << 10, READ_BYTES = 128 << 10 };

static void print_latency(int64_t *ns, long count) {
    qsort(ns, (size_t)count, sizeof *ns, compare);
    printf("{\"p50\": %lld, \"p99\": %lld}\n", (long long)ns[count / 2], (long long)ns[count * 99 / 100]);
}

static void print_rate(long count, int64_t start) {
    printf("{\"msgs_per_s\": %.0f}\n", count / ((double)(now_ns() - start) / 1e9));
}

/* A connection of this process (result[0]) and its child, which gets the other end. */
static int connect_pair(int *is_child) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1, end;
    bind(listener, (struct sockaddr *)&address, length);
    listen(listener, 1);
    getsockname(listener, (struct sockaddr *)&address, &length);
    *is_child = fork() == 0;
    if (*is_child) {
        end = socket(AF_INET, SOCK_STREAM, 0);
        connect(end, (struct sockaddr *)&address, length);
    } else {
        end = accept(listener, NULL, NULL);
    }
    setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    pin(*is_child ? 1 : 0);
    return end;
}

static void send_all(int end, const uint8_t *bytes, size_t count) {
    while (count) {
        ssize_t sent = send(end, bytes, count, 0);
        if (sent <= 0)
            exit(1);
        bytes += sent;
        count -= (size_t)sent;
    }
}

/* Spins until a whole frame is there. */
static void spin_for(int end, uint8_t *bytes, size_t count) {
    while (count) {
        ssize_t got = recv(end, bytes, count, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            exit(1);
        if (got > 0) {
            bytes += got;
            count -= (size_t)got;
        }
    }
}

static void tcp_throughput(long count, size_t frame) {
    static uint8_t buffer[READ_BYTES];
    int is_child, end = connect_pair(&is_child);
    if (is_child) {
        size_t filled = 0;
        uint8_t message[4096] = {0};
        for (long at = 0; at < count; at++) {
            if (filled + frame > BATCH_BYTES) {
                send_all(end, buffer, filled);
                filled = 0;
            }
            memcpy(message, &at, sizeof at);
            memcpy(buffer + filled, message, frame);
            filled += frame;
        }
        send_all(end, buffer, filled);
        shutdown(end, SHUT_WR);
        recv(end, buffer, 1, 0);
        _exit(0);
    }
    int64_t start = 0;
    for (;;) {
        ssize_t got = recv(end, buffer, sizeof buffer, 0);
        if (got <= 0) /* the end of the stream */
            break;
        start = start ? start : now_ns();
    }
    print_rate(count, start);
    close(end);
}

/* Two times and a sequence behind the frame's header, as `taut send` writes them. */
typedef struct {
    int64_t sent, intended, sequence;
} Stamp;

enum { CLOCK_EVERY = 64, STEPS = 256 };

/* Log-linear, to 0.4%, as a latency histogram is. */
static long histogram[2][64 * STEPS];

static void record(int which, int64_t ns) {
    uint64_t value = ns > 0 ? (uint64_t)ns : 0;
    int shift = value < 2 * STEPS ? 0 : 63 - __builtin_clzll(value) - 8;
    histogram[which][shift * STEPS + (int)(value >> shift)]++;
}

static void write_messages(int end, long count, size_t frame) {
    static uint8_t buffer[BATCH_BYTES];
    uint8_t message[4096] = {0, (uint8_t)(frame - 2)};
    size_t filled = 0;
    Stamp stamp = {0};
    for (long at = 0; at < count; at++) {
        if (filled + frame > BATCH_BYTES) {
            send_all(end, buffer, filled);
            filled = 0;
        }
        if (at % CLOCK_EVERY == 0)
            stamp.sent = stamp.intended = now_ns();
        stamp.sequence = at;
        memcpy(message + 2, &stamp, sizeof stamp);
        memcpy(buffer + filled, message, frame);
        filled += frame;
    }
    send_all(end, buffer, filled);
}

static void tcp_messages(long count, size_t frame) {
    static uint8_t buffer[READ_BYTES];
    int is_child, end = connect_pair(&is_child);
    if (is_child) {
        write_messages(end, count, frame);
        shutdown(end, SHUT_WR);
        recv(end, buffer, 1, 0);
        _exit(0);
    }
    int64_t start = 0, expected = 0;
    size_t filled = 0;
    for (;;) {
        ssize_t got = recv(end, buffer + filled, sizeof buffer - filled, 0);
        if (got <= 0) /* the end of the stream */
            break;
        int64_t now = now_ns();
        start = start ? start : now;
        filled += (size_t)got;
        size_t at = 0;
        for (; filled - at >= frame; at += frame) {
            Stamp stamp;
            memcpy(&stamp, buffer + at + 2, sizeof stamp);
            if (buffer[at] != 0 || buffer[at + 1] != frame - 2 || stamp.sequence != expected++)
                exit(1);
            record(0, now - stamp.sent);
            record(1, now - stamp.intended);
        }
        memmove(buffer, buffer + at, filled - at);
        filled -= at;
    }
    if (expected != count)
        exit(1);
    print_rate(count, start);
    close(end);
}

static void tcp_round_trip(long count, size_t frame) {
    uint8_t bytes[4096] = {0};
    int is_child, end = connect_pair(&is_child);
    if (is_child) {
        for (long at = 0; at < count; at++) {
            spin_for(end, bytes, frame);
            send_all(end, bytes, frame);
        }
        _exit(0);
    }
    int64_t *ns = calloc((size_t)count, sizeof *ns);
    for (long at = 0; at < count; at++) {
        int64_t start = now_ns();
        send_all(end, bytes, frame);
        spin_for(end, bytes, frame);
        ns[at] = now_ns() - start;
    }
    print_latency(ns, count);
}

static void tcp_one_way(long count, size_t frame, long rate) {
    uint8_t bytes[4096] = {0};
    int is_child, end = connect_pair(&is_child);
    if (is_child) {
        int64_t start = now_ns() + 1000000;
        for (long at = 0; at < count; at++) {
            int64_t now;
            while ((now = now_ns()) < start + at * 1000000000LL / rate)
                continue;
            memcpy(bytes, &now, sizeof now);
            send_all(end, bytes, frame);
        }
        recv(end, bytes, 1, 0);
        _exit(0);
    }
    int64_t *ns = calloc((size_t)count, sizeof *ns);
    for (long at = 0; at < count; at++) {
        int64_t sent;
        spin_for(end, bytes, frame);
        memcpy(&sent, bytes, sizeof sent);
        ns[at] = now_ns() - sent;
    }
    print_latency(ns, count);
    close(end);
}

static void zmq_throughput(long count, size_t size) {
    char at[256];
    size_t length = sizeof at;
    int toward[2], one = 1;
    pipe(toward);
    if (fork() == 0) {
        void *sender = zmq_socket(zmq_ctx_new(), ZMQ_XPUB);
        uint8_t message[4096] = {0};
        zmq_setsockopt(sender, ZMQ_XPUB_NODROP, &one, sizeof one);
        zmq_bind(sender, "tcp://127.0.0.1:*");
        zmq_getsockopt(sender, ZMQ_LAST_ENDPOINT, at, &length);
        write(toward[1], at, length);
        zmq_recv(sender, message, sizeof message, 0);
        for (long number = 0; number < count; number++) {
            memcpy(message, &number, sizeof number);
            zmq_send(sender, message, size, 0);
        }
        zmq_recv(sender, message, sizeof message, 0); /* the cancellation */
        _exit(0);
    }
    void *receiver = zmq_socket(zmq_ctx_new(), ZMQ_SUB);
    uint8_t bytes[4096];
    at[read(toward[0], at, sizeof at - 1)] = 0;
    zmq_setsockopt(receiver, ZMQ_SUBSCRIBE, "", 0);
    zmq_connect(receiver, at);
    int64_t start = 0;
    for (long number = 0, got; number < count; number++) {
        zmq_recv(receiver, bytes, sizeof bytes, 0);
        memcpy(&got, bytes, sizeof got);
        if (got != number)
            exit(1);
        start = start ? start : now_ns();
    }
    print_rate(count, start);
    fflush(stdout);
    zmq_close(receiver);
    usleep(100000);
}

static void zmq_round_trip(long count, size_t size) {
    char at[256];
    size_t length = sizeof at;
    int toward[2];
    uint8_t bytes[4096] = {0};
    pipe(toward);
    if (fork() == 0) {
        void *end = zmq_socket(zmq_ctx_new(), ZMQ_PAIR);
        zmq_bind(end, "tcp://127.0.0.1:*");
        zmq_getsockopt(end, ZMQ_LAST_ENDPOINT, at, &length);
        write(toward[1], at, length);
        for (long number = 0; number < count; number++) {
            zmq_recv(end, bytes, sizeof bytes, 0);
            zmq_send(end, bytes, size, 0);
        }
        usleep(200000);
        _exit(0);
    }
    void *end = zmq_socket(zmq_ctx_new(), ZMQ_PAIR);
    at[read(toward[0], at, sizeof at - 1)] = 0;
    zmq_connect(end, at);
    int64_t *ns = calloc((size_t)count, sizeof *ns);
    for (long number = 0; number < count; number++) {
        int64_t start = now_ns();
        zmq_send(end, bytes, size, 0);
        zmq_recv(end, bytes, sizeof bytes, 0);
        ns[number] = now_ns() - start;
    }
    print_latency(ns, count);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: peers MODE COUNT SIZE [RATE]\n");
        return 2;
    }
    long count = atol(argv[2]);
    size_t size = (size_t)atol(argv[3]), frame = size + 2;
    if (size < 24 || size > 4000)
        return 2;
    if (!strcmp(argv[1], "zmq-throughput"))
        zmq_throughput(count, size);
    else if (!strcmp(argv[1], "tcp-throughput"))
        tcp_throughput(count, frame);
    else if (!strcmp(argv[1], "zmq-round-trip"))
        zmq_round_trip(count, size);
    else if (!strcmp(argv[1], "tcp-messages") && size <= 255)
        tcp_messages(count, frame);
    else if (!strcmp(argv[1], "tcp-round-trip"))
        tcp_round_trip(count, frame);
    else if (!strcmp(argv[1], "tcp-one-way") && argc == 5)
        tcp_one_way(count, frame, atol(argv[4]));
    else
        return 2;
    fflush(stdout);
    wait(NULL);
    return 0;
}
