/* A bare UDP sender and receiver: what `lease:udp` is held against.
 *
 *   peers one-way COUNT SIZE RATE    a datagram at its time, from its send call to its receipt, both ends spinning
 *
 * Two processes, the sender on CPU 1 and the receiver on CPU 0, each on a socket that is connected to the other's. Prints one
 * line of JSON. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common.h"

enum { BYTES_MAX = 1472, RECEIVE_BUFFER_BYTES = 1 << 20 };
static const int64_t PATIENCE_NS = 300 * 1000000LL;

static int open_end(struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    int end = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), bytes = RECEIVE_BUFFER_BYTES;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    setsockopt(end, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (bind(end, (struct sockaddr *)address, length) || getsockname(end, (struct sockaddr *)address, &length))
        exit(1);
    return end;
}

static void send_paced(int end, long count, size_t size, long rate) {
    uint8_t bytes[BYTES_MAX] = {0};
    int64_t start = now_ns() + 10000000;
    for (int64_t at = 0; at < count; at++) {
        int64_t now;
        while ((now = now_ns()) < start + at * 1000000000LL / rate)
            continue;
        memcpy(bytes, &now, sizeof now);
        memcpy(bytes + 16, &at, sizeof at);
        while (send(end, bytes, size, MSG_DONTWAIT) < 0)
            if (errno != EAGAIN)
                exit(1);
    }
}

static void receive_all(int end, long count) {
    uint8_t bytes[BYTES_MAX];
    int64_t *ns = calloc((size_t)count, sizeof *ns), last = 0;
    long received = 0;
    while (received < count) {
        if (recv(end, bytes, sizeof bytes, MSG_DONTWAIT) < 0) {
            /* What is lost now does not come any more. */
            if (last && now_ns() > last + PATIENCE_NS)
                break;
            continue;
        }
        int64_t sent;
        last = now_ns();
        memcpy(&sent, bytes, sizeof sent);
        ns[received++] = last - sent;
    }
    qsort(ns, (size_t)received, sizeof *ns, compare);
    printf("{\"received\": %ld, \"p50\": %lld, \"p99\": %lld, \"p999\": %lld}\n", received,
           (long long)ns[received / 2], (long long)ns[received * 99 / 100], (long long)ns[received * 999 / 1000]);
}

int main(int argc, char **argv) {
    if (argc != 5 || strcmp(argv[1], "one-way")) {
        fprintf(stderr, "usage: peers one-way COUNT SIZE RATE\n");
        return 2;
    }
    long count = atol(argv[2]), rate = atol(argv[4]);
    size_t size = (size_t)atol(argv[3]);
    if (count < 1 || rate < 1 || size < 24 || size > BYTES_MAX)
        return 2;
    struct sockaddr_in ours, theirs;
    int receiver = open_end(&ours), sender = open_end(&theirs);
    if (connect(receiver, (struct sockaddr *)&theirs, sizeof theirs) ||
        connect(sender, (struct sockaddr *)&ours, sizeof ours))
        return 1;
    if (fork() == 0) {
        pin(1);
        send_paced(sender, count, size, rate);
        _exit(0);
    }
    pin(0);
    receive_all(receiver, count);
    fflush(stdout);
    wait(NULL);
    return 0;
}
