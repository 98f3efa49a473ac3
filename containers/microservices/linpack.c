/* Solves a dense system of N equations by LAPACK's dgesv and says how fast: 2/3 N^3 + 2 N^2 operations, as the LINPACK rules
 * count them, over the time of factoring and solving. The residual is HPL's: ||Ax-b|| / (eps (||A|| ||x|| + ||b||) N) in the
 * infinity norm, with the matrix made a second time, because dgesv overwrites it.
 *
 *   linpack N
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>

extern void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *pivots, double *b, const int *ldb, int *info);
extern int openblas_get_num_threads(void);
extern char *openblas_get_corename(void);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* Uniform in [-0.5, 0.5): a linear congruential generator with Knuth's constants, as the same matrix is needed twice. */
static double next(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0 - 0.5;
}

/* The widest vector instructions that this process may use, as OpenBLAS asks for them: its AVX-512 kernels need AVX512VL. */
static const char *vector_instructions(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512vl"))
        return "AVX-512";
    if (__builtin_cpu_supports("avx2"))
        return "AVX2";
    return __builtin_cpu_supports("avx") ? "AVX" : "SSE";
#else
    return getauxval(AT_HWCAP) & HWCAP_SVE ? "SVE" : "NEON";
#endif
}

static double residual(int n, const double *x)
{
    double *product = calloc(n, sizeof *product), *sums = calloc(n, sizeof *sums);
    double most = 0, norm_a = 0, norm_x = 0, norm_b = 0;
    uint64_t state = 1;
    if (!product || !sums)
        return NAN;
    for (int column = 0; column < n; column++)
        for (int row = 0; row < n; row++) {
            double a = next(&state);
            product[row] += a * x[column];
            sums[row] += fabs(a);
        }
    for (int row = 0; row < n; row++) {
        double b = next(&state);
        most = fmax(most, fabs(product[row] - b));
        norm_a = fmax(norm_a, sums[row]);
        norm_x = fmax(norm_x, fabs(x[row]));
        norm_b = fmax(norm_b, fabs(b));
    }
    free(product);
    free(sums);
    return most / (DBL_EPSILON * (norm_a * norm_x + norm_b) * n);
}

int main(int argc, char **argv)
{
    int n = argc == 2 ? atoi(argv[1]) : 0, one = 1, info;
    if (n < 1) {
        fprintf(stderr, "usage: linpack N\n");
        return 2;
    }
    double *a = malloc(sizeof *a * n * n), *b = malloc(sizeof *b * n);
    int *pivots = malloc(sizeof *pivots * n);
    if (!a || !b || !pivots) {
        fprintf(stderr, "linpack: no memory for %d equations\n", n);
        return 1;
    }
    uint64_t state = 1;
    for (size_t i = 0; i < (size_t)n * n; i++)
        a[i] = next(&state);
    for (int i = 0; i < n; i++)
        b[i] = next(&state);
    double begin = now();
    dgesv_(&n, &one, a, &n, pivots, b, &n, &info);
    double seconds = now() - begin;
    if (info) {
        fprintf(stderr, "linpack: dgesv ended with info %d\n", info);
        return 1;
    }
    double operations = 2.0 / 3.0 * n * (double)n * n + 2.0 * n * (double)n;
    printf("order=%d\nthreads=%d\nkernel=%s\nprocessor=%s\nseconds=%.6f\ngflops=%.6f\nresidual=%.6g\n", n,
           openblas_get_num_threads(), openblas_get_corename(), vector_instructions(), seconds, operations / seconds / 1e9,
           residual(n, b));
    return 0;
}
