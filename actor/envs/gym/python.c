/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CPython, isolated: it uses no user's directory and no environment variables, and writes no byte code. The
 * hash seed is fixed: otherwise the order of a set of strings would differ between processes and influence
 * learning. */
#include "actor/envs/gym/python.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

/* bridge.py and parallel.py are compiled in as text, since the actor's root has no files of actord. */
__asm__(".pushsection .rodata\n"
        "bridge_text:\n"
        ".incbin \"actor/envs/gym/bridge.py\"\n"
        ".byte 0\n"
        "parallel_text:\n"
        ".incbin \"actor/envs/gym/parallel.py\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char bridge_text[] __attribute__((visibility("hidden")));
extern const char parallel_text[] __attribute__((visibility("hidden")));

/* more bytes than libffi's ffi_closure has */
#define CLOSURE_BYTES 128u

static PyObject *bridge;   /* the functions of bridge.py; NULL: Python has not started */
static PyObject *parallel; /* the functions of parallel.py; NULL: they are not loaded */
static bool prepared;      /* packages can be imported */

/* Keeps numerical libraries from starting threads, since an actor may have only one, and pygame from using a
 * screen or sound. */
static void set_variables(void) {
        static const char *const variables[][2] = { { "OPENBLAS_NUM_THREADS", "1" },
                { "OMP_NUM_THREADS", "1" }, { "MKL_NUM_THREADS", "1" }, { "NUMEXPR_NUM_THREADS", "1" },
                { "HOME", "/" }, { "SDL_VIDEODRIVER", "dummy" }, { "SDL_AUDIODRIVER", "dummy" },
                { "PYGAME_HIDE_SUPPORT_PROMPT", "1" } };

        for (size_t i = 0; i < ELEMENTSOF(variables); i++)
                (void) setenv(variables[i][0], variables[i][1], 1);
}

/* The interpreter's own modules are at fixed paths, so it need not search for them. */
static PyStatus add_path(PyConfig *config, const char *path) {
        wchar_t *wide = Py_DecodeLocale(path, NULL);
        PyStatus status = wide ? PyWideStringList_Append(&config->module_search_paths, wide)
                               : PyStatus_NoMemory();

        PyMem_RawFree(wide);
        return status;
}

static PyStatus configure(PyConfig *config) {
        static const char *const paths[] = { PYTHON_LIBRARY, PYTHON_LIBRARY "/lib-dynload" };
        PyStatus status;

        config->site_import = 0;
        config->write_bytecode = 0;
        config->install_signal_handlers = 0;
        config->buffered_stdio = 0;
        config->use_hash_seed = 1;
        config->hash_seed = 0;
        config->module_search_paths_set = 1;

        status = PyConfig_SetBytesString(config, &config->home, PYTHON_PREFIX);
        if (!PyStatus_Exception(status))
                status = PyConfig_SetString(config, &config->program_name, L"python3");
        for (size_t i = 0; i < ELEMENTSOF(paths) && !PyStatus_Exception(status); i++)
                status = add_path(config, paths[i]);
        return status;
}

int python_expose(void) {
        Dl_info library;

        if (dladdr((void *) Py_InitializeFromConfig, &library) == 0 ||
                        !dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL))
                return -ENOEXEC;
        return 0;
}

/* ctypes makes callbacks by libffi. For the first callback, libffi looks for the callbacks' common code in
 * /proc/self/maps. An actor has no /proc and no anonymous executable memory, so CFUNCTYPE(...)(f) would
 * raise MemoryError there. If one callback is made before the fork and kept, libffi's first table of
 * callbacks (102 on x86-64) stays mapped. This is read-only code from libffi's own file. */
void python_prepare_callbacks(void) {
        void *(*make)(size_t bytes, void **ret_code), *code;
        void *library = dlopen("libffi.so.8", RTLD_NOW);

        if (!library)
                return;
        make = (void *(*) (size_t, void **) ) dlsym(library, "ffi_closure_alloc");
        if (make)
                (void) make(CLOSURE_BYTES, &code);
}

static int initialise(void) {
        PyConfig config;
        PyStatus status;

        set_variables();
        PyConfig_InitIsolatedConfig(&config);
        status = configure(&config);
        if (!PyStatus_Exception(status))
                status = Py_InitializeFromConfig(&config);
        PyConfig_Clear(&config);
        if (!PyStatus_Exception(status))
                return 0;

        (void) fprintf(stderr, "Python does not start: %s\n",
                        status.err_msg ? status.err_msg : "no reason is given");
        return -ENOEXEC;
}

/* Loads bridge.py or parallel.py as a module of its own, since pickled objects name their module. */
static int load_text(const char *text, const char *file, const char *name, PyObject **ret) {
        _cleanup_(python_unrefp) PyObject *code = Py_CompileString(text, file, Py_file_input);
        _cleanup_(python_unrefp) PyObject *module = code ? PyImport_ExecCodeModule(name, code) : NULL;

        if (!module) {
                PyErr_Print();
                return -ENOEXEC;
        }
        *ret = PyModule_GetDict(TAKE_PTR(module));
        return 0;
}

static int load_texts(void) {
        int r;

        r = initialise();
        if (r < 0)
                return r;
        r = load_text(bridge_text, "bridge.py", "actord_bridge", &bridge);
        if (r < 0)
                return r;
        return load_text(parallel_text, "parallel.py", "actord_parallel", &parallel);
}

/* After a failure the next call tries again, and so gives the reason again. */
int python_start(const char *python, const char *root, const char *path, const char *path_root) {
        _cleanup_(python_unrefp) PyObject *done = NULL;
        int r;

        if (prepared)
                return 0;
        r = parallel ? 0 : load_texts();
        if (r < 0)
                return r;
        done = python_call("prepare", "(ssss)", python, root, path, path_root);
        prepared = done != NULL;
        return prepared ? 0 : -ENOEXEC;
}

PyObject *python_helper(const char *name) {
        PyObject *found = PyDict_GetItemString(bridge, name);

        return found ? found : PyDict_GetItemString(parallel, name);
}

PyObject *python_call(const char *name, const char *format, ...) {
        _cleanup_(python_unrefp) PyObject *arguments = NULL;
        PyObject *result = NULL;
        va_list values;

        va_start(values, format);
        arguments = Py_VaBuildValue(format, values);
        va_end(values);

        if (arguments)
                result = PyObject_CallObject(python_helper(name), arguments);
        if (!result)
                (void) python_tell();
        return result;
}

bool python_missed(char *ret, size_t n) {
        _cleanup_(python_unrefp) PyObject *name = bridge ? python_call("missed", "()") : NULL;
        const char *text = name ? PyUnicode_AsUTF8(name) : NULL;

        PyErr_Clear();
        if (!text || !text[0])
                return false;
        (void) snprintf(ret, n, "%s", text);
        return true;
}

int python_tell(void) {
        PyObject *type, *value, *traceback;

        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        if (value && traceback)
                (void) PyException_SetTraceback(value, traceback);
        if (value)
                Py_XDECREF(PyObject_CallOneArg(python_helper("tell"), value));
        /* an exception that cannot be printed is dropped */
        PyErr_Clear();
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return -EIO;
}
