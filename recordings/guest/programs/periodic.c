// Periodic threads as of an audio stack, and two that compute: each wakes at its period, computes, and waits for the
// next. Arguments: seconds.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct task {
    const char *name;
    long period_us, work_us;
    int nice;
};

static const struct task tasks[] = {
    {"audio", 2900, 400, -5}, {"mixer", 5000, 900, 0},  {"video", 16667, 4000, 0},
    {"input", 8000, 100, 0},  {"poll", 33000, 6000, 5}, {"hog", 0, 1000, 0}, {"hog", 0, 1000, 5},
};
static struct timespec end;

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void compute(long us) {
    volatile unsigned long value = 1;
    for (long round = 0; round < us * 200; round++) value = value * 31 + 7;
}

static void *run(void *argument) {
    const struct task *task = argument;
    long long next = now(CLOCK_MONOTONIC), last = end.tv_sec * 1000000000LL + end.tv_nsec;
    pthread_setname_np(pthread_self(), task->name);
    setpriority(PRIO_PROCESS, syscall(SYS_gettid), task->nice);
    while (now(CLOCK_MONOTONIC) < last) {
        compute(task->work_us);
        if (!task->period_us) continue;
        do next += task->period_us * 1000;
        while (next < now(CLOCK_MONOTONIC));
        struct timespec until = {next / 1000000000, next % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return NULL;
}

int main(int count, char **arguments) {
    enum { N = sizeof tasks / sizeof *tasks };
    pthread_t threads[N];
    if (count != 2) return fprintf(stderr, "usage: periodic SECONDS\n"), 2;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += atoi(arguments[1]);
    for (int n = 0; n < N; n++) pthread_create(&threads[n], NULL, run, (void *)&tasks[n]);
    for (int n = 0; n < N; n++) pthread_join(threads[n], NULL);
    return 0;
}
