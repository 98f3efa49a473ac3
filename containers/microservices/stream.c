/* Sustained memory bandwidth by the rules of McCalpin's STREAM: COPY, SCALE, ADD and TRIAD over three arrays of doubles, each
 * repeated NTIMES, the best time of all but the first repetition, and the arrays' contents checked at the end.
 *
 *   stream ELEMENTS NTIMES THREADS
 */
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {"copy", "scale", "add", "triad"};
static const int words[] = {2, 2, 3, 3};

static void run(int kernel, double *a, double *b, double *c, double scalar, size_t n)
{
    switch (kernel) {
    case 0:
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            c[i] = a[i];
        break;
    case 1:
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            b[i] = scalar * c[i];
        break;
    case 2:
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            c[i] = a[i] + b[i];
        break;
    default:
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            a[i] = b[i] + scalar * c[i];
    }
}

/* Mean relative error of an array all of whose elements should be `expected`. */
static double error(const double *array, double expected, size_t n)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += fabs(array[i] - expected);
    return sum / n / fabs(expected);
}

int main(int argc, char **argv)
{
    size_t n = argc == 4 ? strtoull(argv[1], NULL, 10) : 0;
    int times = argc == 4 ? atoi(argv[2]) : 0, threads = argc == 4 ? atoi(argv[3]) : 0;
    if (n < 1 || times < 2 || threads < 1) {
        fprintf(stderr, "usage: stream ELEMENTS NTIMES (2 or more) THREADS\n");
        return 2;
    }
    omp_set_num_threads(threads);
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
    const double scalar = 3.0;
    double best[4] = {DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX};
    if (!a || !b || !c) {
        fprintf(stderr, "stream: no memory for 3 x %zu elements\n", n);
        return 1;
    }
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0;
        b[i] = 2.0;
        c[i] = 0.0;
    }
    double x = 1.0, y = 2.0, z = 0.0;
    for (int repetition = 0; repetition < times; repetition++) {
        for (int kernel = 0; kernel < 4; kernel++) {
            double begin = omp_get_wtime();
            run(kernel, a, b, c, scalar, n);
            double seconds = omp_get_wtime() - begin;
            if (repetition && seconds < best[kernel])
                best[kernel] = seconds;
        }
        z = x;
        y = scalar * z;
        z = x + y;
        x = y + scalar * z;
    }
    double worst = fmax(error(a, x, n), fmax(error(b, y, n), error(c, z, n)));
    printf("elements=%zu\ntimes=%d\nthreads=%d\nerror=%.3g\n", n, times, omp_get_max_threads(), worst);
    for (int kernel = 0; kernel < 4; kernel++)
        printf("%s=%.6f\n", names[kernel], 1e-9 * words[kernel] * sizeof(double) * n / best[kernel]);
    return 0;
}
