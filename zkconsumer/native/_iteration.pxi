# How a poll consumer is iterated, record by record; a part of _core.pyx. `consumer.steps` and `walk` are the definition.

cdef extern from *:
    """
    /* What Cython makes of __next__ is a plain method, so that a class that inherits it in Python looks it up
     * and calls it for each record. What the interpreter makes of a slot is inherited as that slot, unless
     * somebody overrides it. */
    static int zk_inherit_next(PyTypeObject *type, PyObject *theirs) {
        if (!Py_IS_TYPE(theirs, &PyWrapperDescr_Type)) {
            PyErr_SetString(PyExc_SystemError, "this is no wrapper of __next__");
            return -1;
        }
        struct wrapperbase *wrapper = ((PyWrapperDescrObject *)theirs)->d_base;
        PyObject *descriptor = PyDescr_NewWrapper(type, wrapper, (void *)type->tp_iternext);
        if (!descriptor)
            return -1;
        int done = PyDict_SetItemString(type->tp_dict, "__next__", descriptor);
        Py_DECREF(descriptor);
        PyType_Modified(type);
        return done;
    }
    """
    int zk_inherit_next(PyTypeObject *type, object theirs) except -1


@cython.final
cdef class Steps:
    cdef list records
    cdef Py_ssize_t at

    def __init__(self, list records not None):
        self.records = records

    @property
    def last(self):
        with cython.critical_section(self):
            return self.records[self.at - 1] if self.at else None

    @cython.critical_section
    def __length_hint__(self):
        return len(self.records) - self.at

    @cython.critical_section
    def take(self, Py_ssize_t count):
        cdef Py_ssize_t left = len(self.records) - self.at
        cdef list taken = self.records[self.at : self.at + min(max(count, 0), left)]
        self.at += len(taken)
        return taken

    @cython.critical_section
    def end(self):
        self.records = self.records[: self.at]


@cython.final
cdef class Walk:
    cdef readonly Lease lease
    cdef Steps now

    def __init__(self, clock not None):
        self.lease = Lease(clock)

    @property
    def steps(self):
        return _steps_of(self)

    @steps.setter
    def steps(self, Steps steps):
        with cython.critical_section(self):
            self.now = steps


cdef inline Steps _steps_of(Walk walk):
    with cython.critical_section(walk):
        return walk.now


cdef inline object _next_in(Walk walk):
    """The next record, or None: it is time to look around."""
    cdef Steps steps = _steps_of(walk)
    # A test's clock is Python: a signal handler may run in there, and change what is next.
    if steps is None or walk.lease.is_over():
        return None
    with cython.critical_section(walk, steps):
        # Nothing is called from here on: the record is the caller's, or it was not taken.
        if walk.now is steps and steps.at < len(steps.records):
            steps.at += 1
            return steps.records[steps.at - 1]
    return None


cdef class RecordIterator:
    cdef public Walk _walk

    def __iter__(self):
        # Whoever begins a loop looks around first.
        if self._walk is not None:
            self._walk.steps = None
        return self

    def __next__(self):
        while True:
            record = None if self._walk is None else _next_in(self._walk)
            if record is not None:
                return record
            if not self._find_next():
                raise StopIteration


zk_inherit_next(<PyTypeObject *>RecordIterator, type(iter(())).__dict__["__next__"])
