/* What the bare peers share: the clock, the place of a process, and the order of latencies. */
#ifndef PEERS_COMMON_H
#define PEERS_COMMON_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* For qsort. */
static int compare(const void *one, const void *other) {
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

#endif
