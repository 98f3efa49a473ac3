/* Digits of pi by FLINT and Arb (Chudnovsky's series, binary splitting), with as many threads as there are processors for it.
 *
 *   pi DIGITS FILE
 *
 * Computation is the series and the conversion to decimal; the total also has the digits written to FILE and flushed to its
 * disk. Arb bounds the error of what it computes: the digits that are printed are right.
 */
#define _GNU_SOURCE
#include <arb.h>
#include <flint/flint.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char known[] = "3.14159265358979323846264338327950288419716939937510";

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    long digits = argc == 3 ? atol(argv[1]) : 0;
    if (digits < 100) {
        fprintf(stderr, "usage: pi DIGITS FILE (100 digits or more)\n");
        return 2;
    }
    double begin = now();
    cpu_set_t set;
    int threads = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    flint_set_num_threads(threads);
    slong bits = (slong)(digits * 3.3219280948873626) + 64;
    arb_t pi;
    arb_init(pi);
    arb_const_pi(pi, bits);
    long accuracy = arb_rel_accuracy_bits(pi);
    char *text = arb_get_str(pi, digits, ARB_STR_NO_RADIUS);
    double computed = now() - begin;
    FILE *file = fopen(argv[2], "w");
    if (!file || fputs(text, file) < 0 || fflush(file) || fsync(fileno(file)) || fclose(file)) {
        perror(argv[2]);
        return 1;
    }
    double total = now() - begin;
    if (strncmp(text, known, sizeof known - 3)) {
        fprintf(stderr, "pi: the first digits are wrong\n");
        return 1;
    }
    printf("digits=%ld\nthreads=%d\naccuracy_bits=%ld\nneeded_bits=%ld\ncomputation_seconds=%.6f\ntotal_seconds=%.6f\n",
           (long)strlen(text) - 1, threads, accuracy, (long)(digits * 3.3219280948873626), computed, total);
    printf("last=%s\n", text + strlen(text) - 10);
    flint_free(text);
    unlink(argv[2]);
    return 0;
}
