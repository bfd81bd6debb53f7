/* Lets the n-th call of one kind on files beneath one folder fail; loaded with LD_PRELOAD, so code in C++ and Rust meets it too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN, READ, MMAP, WRITE, FSYNC, RENAME, CLOSE, N_KINDS };
enum { FAIL = 0, SHORT = -1 }; /* SHORT is given in the place of an error number */

static char folder[4096];
static int wanted_kind = -1, wanted_call, error_number, stays;
static int n_calls[N_KINDS], n_fired;

void faults_begin(const char *path, int kind, int call, int error, int sticky) {
    snprintf(folder, sizeof folder, "%s", path);
    wanted_kind = kind, wanted_call = call, error_number = error, stays = sticky;
    memset(n_calls, 0, sizeof n_calls);
    n_fired = 0;
}
int faults_fired(void) { return n_fired; }
int faults_calls(int kind) { return n_calls[kind]; }

static int is_beneath(const char *path) {
    size_t n = strlen(folder);
    return n && !strncmp(path, folder, n) && (path[n] == '/' || !path[n]);
}

static int is_path_beneath(int at, const char *path) {
    char whole[8192], base[4096];
    if (!folder[0] || !path) return 0;
    if (path[0] == '/') return is_beneath(path);
    if (at == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        ssize_t n = readlink(link, base, sizeof base - 1);
        if (n < 0) return 0;
        base[n] = 0;
    }
    snprintf(whole, sizeof whole, "%s/%s", base, path);
    return is_beneath(whole);
}

static int is_file_beneath(int file) {
    char link[64], path[4096];
    if (!folder[0] || file < 0) return 0;
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (n < 0) return 0;
    path[n] = 0;
    return is_beneath(path);
}

/* Counts a call, and tells whether it is to go wrong. */
static int strikes(int kind) {
    int call = __sync_add_and_fetch(&n_calls[kind], 1);
    if (kind != wanted_kind || !(call == wanted_call || (stays && call > wanted_call))) return 0;
    __sync_add_and_fetch(&n_fired, 1);
    return 1;
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define FAILED(result) return errno = error_number, (result)
#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        MODE REAL(name); \
        if (is_path_beneath(AT_FDCWD, path) && strikes(OPEN)) FAILED(-1); \
        return real(path, flags, mode); \
    }
#define OPENS_AT(name) \
    int name(int at, const char *path, int flags, ...) { \
        MODE REAL(name); \
        if (is_path_beneath(at, path) && strikes(OPEN)) FAILED(-1); \
        return real(at, path, flags, mode); \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

/* A short call is cut to half of what was wanted, which the system may do at any time. */
#define SIZED(name, kind, buffer_type) \
    ssize_t name(int file, buffer_type buffer, size_t n) { \
        REAL(name); \
        if (is_file_beneath(file) && strikes(kind)) { \
            if (error_number != SHORT) FAILED(-1); \
            n = n > 1 ? n / 2 : n; \
        } \
        return real(file, buffer, n); \
    }
SIZED(read, READ, void *)
SIZED(write, WRITE, const void *)
#define SIZED_AT(name, kind, buffer_type, offset_type) \
    ssize_t name(int file, buffer_type buffer, size_t n, offset_type at) { \
        REAL(name); \
        if (is_file_beneath(file) && strikes(kind)) { \
            if (error_number != SHORT) FAILED(-1); \
            n = n > 1 ? n / 2 : n; \
        } \
        return real(file, buffer, n, at); \
    }
SIZED_AT(pread, READ, void *, off_t)
SIZED_AT(pread64, READ, void *, off64_t)
SIZED_AT(pwrite, WRITE, const void *, off_t)
SIZED_AT(pwrite64, WRITE, const void *, off64_t)
#define VECTOR(name, kind) \
    ssize_t name(int file, const struct iovec *parts, int n) { \
        REAL(name); \
        if (is_file_beneath(file) && strikes(kind)) { \
            if (error_number != SHORT) FAILED(-1); \
            n = n > 1 ? n / 2 : n; \
        } \
        return real(file, parts, n); \
    }
VECTOR(readv, READ)
VECTOR(writev, WRITE)

#define MAPS(name, offset_type) \
    void *name(void *where, size_t n, int access, int flags, int file, offset_type at) { \
        REAL(name); \
        if (is_file_beneath(file) && strikes(MMAP)) FAILED(MAP_FAILED); \
        return real(where, n, access, flags, file, at); \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)

#define SYNCS(name) \
    int name(int file) { \
        REAL(name); \
        if (is_file_beneath(file) && strikes(FSYNC)) FAILED(-1); \
        return real(file); \
    }
SYNCS(fsync)
SYNCS(fdatasync)

int rename(const char *from, const char *to) {
    REAL(rename);
    if (is_path_beneath(AT_FDCWD, from) && strikes(RENAME)) FAILED(-1);
    return real(from, to);
}
int renameat(int from_at, const char *from, int to_at, const char *to) {
    REAL(renameat);
    if (is_path_beneath(from_at, from) && strikes(RENAME)) FAILED(-1);
    return real(from_at, from, to_at, to);
}

/* Linux closes the file whatever it says of the data. */
int close(int file) {
    REAL(close);
    if (is_file_beneath(file) && strikes(CLOSE)) {
        real(file);
        FAILED(-1);
    }
    return real(file);
}
