/* A libzmq peer: peer TYPE bind|connect ENDPOINT count=N [option=value]...
 * A receiver prints, for each message, its count of parts, its length and the FNV-1a hash of its bytes; a sender sends
 * the messages that the test expects. Both live until their standard input ends. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

static const size_t SIZES[] = {0, 1, 70, 253, 255, 256, 300, 65536, 200000};

static const char *option(int argc, char **argv, const char *name) {
    size_t length = strlen(name);
    for (int at = 4; at < argc; at++)
        if (!strncmp(argv[at], name, length) && argv[at][length] == '=')
            return argv[at] + length + 1;
    return NULL;
}

static void set_text(void *socket, int name, const char *value) {
    if (value && zmq_setsockopt(socket, name, value, strlen(value))) {
        fprintf(stderr, "option %d: %s\n", name, zmq_strerror(errno));
        exit(1);
    }
}

static void send_message(void *socket, unsigned number) {
    static uint8_t bytes[1 << 18];
    const char *topic = number % 2 ? "odd" : "even";
    size_t start = strlen(topic), size = SIZES[number % 9];
    memcpy(bytes, topic, start);
    for (size_t at = 0; at < size; at++)
        bytes[start + at] = (uint8_t)(at ^ number);
    if (number % 3 == 0) {
        zmq_send(socket, bytes, start, ZMQ_SNDMORE);
        zmq_send(socket, bytes + start, size, 0);
    } else {
        zmq_send(socket, bytes, start + size, 0);
    }
}

static void receive_message(void *socket) {
    int parts = 0, more = 1;
    size_t total = 0;
    uint64_t hash = 0xCBF29CE484222325u;
    while (more) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, socket, 0) < 0)
            exit(1);
        const uint8_t *bytes = zmq_msg_data(&part);
        for (size_t at = 0; at < zmq_msg_size(&part); at++)
            hash = (hash ^ bytes[at]) * 0x100000001B3u;
        total += zmq_msg_size(&part);
        more = zmq_msg_more(&part);
        zmq_msg_close(&part);
        parts++;
    }
    printf("%d %zu %llu\n", parts, total, (unsigned long long)hash);
}

/* ZAP (RFC 27): libzmq's PLAIN server asks this for each client. */
static void *authenticate(void *socket) {
    char part[8][256] = {{0}};
    for (;;) {
        size_t more_size = sizeof(int);
        int at = 0, more = 1;
        for (; more && at < 8; at++) {
            int length = zmq_recv(socket, part[at], 255, 0);
            if (length < 0)
                return NULL;
            part[at][length < 255 ? length : 255] = 0;
            zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &more_size);
        }
        /* version, request, domain, address, identity, mechanism, user, password */
        const char *code = !strcmp(part[6], "trader") && !strcmp(part[7], "secret") ? "200" : "400";
        zmq_send(socket, "1.0", 3, ZMQ_SNDMORE);
        zmq_send(socket, part[1], strlen(part[1]), ZMQ_SNDMORE);
        zmq_send(socket, code, 3, ZMQ_SNDMORE);
        zmq_send(socket, "", 0, ZMQ_SNDMORE);
        zmq_send(socket, "", 0, ZMQ_SNDMORE);
        zmq_send(socket, "", 0, 0);
    }
}

int main(int argc, char **argv) {
    static const char *const names[] = {"pub", "xpub", "sub", "xsub", "push", "pull"};
    static const int types[] = {ZMQ_PUB, ZMQ_XPUB, ZMQ_SUB, ZMQ_XSUB, ZMQ_PUSH, ZMQ_PULL};
    int kind = 0, one = 1, linger = 5000;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (kind < 6 && strcmp(names[kind], argv[1]))
        kind++;
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, types[kind]);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    const char *plain = option(argc, argv, "plain");
    if (plain) {
        char user[256] = {0};
        memcpy(user, plain, strcspn(plain, ":"));
        set_text(socket, ZMQ_PLAIN_USERNAME, user);
        set_text(socket, ZMQ_PLAIN_PASSWORD, strchr(plain, ':') + 1);
    }
    if (option(argc, argv, "plain-server")) {
        pthread_t thread;
        void *zap = zmq_socket(context, ZMQ_REP);
        zmq_bind(zap, "inproc://zeromq.zap.01");
        pthread_create(&thread, NULL, authenticate, zap);
        zmq_setsockopt(socket, ZMQ_PLAIN_SERVER, &one, sizeof one);
    }
    set_text(socket, ZMQ_CURVE_SERVERKEY, option(argc, argv, "server-key"));
    set_text(socket, ZMQ_CURVE_SECRETKEY, option(argc, argv, "secret"));
    set_text(socket, ZMQ_CURVE_PUBLICKEY, option(argc, argv, "public"));
    if (option(argc, argv, "secret") && !option(argc, argv, "server-key"))
        zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &one, sizeof one);
    const char *heartbeat = option(argc, argv, "heartbeat");
    if (heartbeat) {
        int interval = atoi(heartbeat), ttl = 5 * interval;
        zmq_setsockopt(socket, ZMQ_HEARTBEAT_IVL, &interval, sizeof interval);
        zmq_setsockopt(socket, ZMQ_HEARTBEAT_TTL, &ttl, sizeof ttl);
    }
    int failed = strcmp(argv[2], "bind") ? zmq_connect(socket, argv[3]) : zmq_bind(socket, argv[3]);
    if (failed) {
        fprintf(stderr, "%s: %s\n", argv[3], zmq_strerror(errno));
        return 1;
    }
    const char *prefix = option(argc, argv, "subscribe");
    prefix = prefix ? prefix : "";
    if (types[kind] == ZMQ_SUB)
        zmq_setsockopt(socket, ZMQ_SUBSCRIBE, prefix, strlen(prefix));
    if (types[kind] == ZMQ_XSUB) {
        char wish[64] = {1};
        memcpy(wish + 1, prefix, strlen(prefix));
        zmq_send(socket, wish, 1 + strlen(prefix), 0);
    }
    char at[256], line[16];
    size_t length = sizeof at;
    zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, at, &length);
    printf("at %s\n", at);
    int count = atoi(option(argc, argv, "count"));
    if (kind == 2 || kind == 3 || kind == 5) {
        for (int number = 0; number < count; number++)
            receive_message(socket);
    } else {
        if (types[kind] == ZMQ_XPUB) {
            zmq_msg_t wish;
            zmq_msg_init(&wish);
            zmq_msg_recv(&wish, socket, 0);
            printf("subscribed\n");
        }
        if (types[kind] == ZMQ_PUB && !fgets(line, sizeof line, stdin))
            return 1;
        for (int number = 0; number < count; number++)
            send_message(socket, (unsigned)number);
        printf("sent\n");
    }
    while (read(0, line, sizeof line) > 0)
        continue;
    zmq_close(socket);
    return 0;
}
