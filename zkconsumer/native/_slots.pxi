# Attributes of messages that the interpreter reads without a call; a part of _core.pyx.
#
# What Cython makes of an attribute is a function in C, which CPython calls each time. A member
# descriptor, as `__slots__` makes them, is read by the interpreter without any call: that is a third of
# what a loop over messages costs in all.

from cpython.object cimport PyObject

cdef extern from *:
    """
    #include <structmember.h>

    static int zk_add_slot(PyTypeObject *type, const char *name, Py_ssize_t offset) {
        /* Never freed: the descriptor points to it. */
        PyMemberDef *member = (PyMemberDef *)PyMem_Calloc(1, sizeof *member);
        if (!member) {
            PyErr_NoMemory();
            return -1;
        }
        member->name = name;
        member->type = T_OBJECT_EX;
        member->offset = offset;
        member->flags = READONLY;
        PyObject *descriptor = PyDescr_NewMember(type, member);
        if (!descriptor)
            return -1;
        int done = PyDict_SetItemString(type->tp_dict, name, descriptor);
        Py_DECREF(descriptor);
        PyType_Modified(type);
        return done;
    }
    """
    int zk_add_slot(PyTypeObject *type, const char *name, Py_ssize_t offset) except -1


cdef Py_ssize_t _offset_in(object message, object held, Py_ssize_t size):
    """Where in its memory an object holds another one; -1 if nowhere."""
    cdef char *start = <char *><PyObject *>message
    cdef Py_ssize_t at = 0
    while at + <Py_ssize_t>sizeof(void *) <= size:
        if (<void **>(start + at))[0] == <void *>held:
            return at
        at += sizeof(void *)
    return -1


cdef _add_slots():
    """Have `key`, `value` and their raw twins read directly where there is nothing to decode."""
    cdef Message probe = Message.__new__(Message)
    probe.raw_key, probe.raw_value = object(), object()
    cdef Py_ssize_t key_at = _offset_in(probe, probe.raw_key, Message.__basicsize__)
    cdef Py_ssize_t value_at = _offset_in(probe, probe.raw_value, Message.__basicsize__)
    if key_at < 0 or value_at < 0:
        raise SystemError("the native core does not know the layout of its own messages")
    cdef PyTypeObject *kind = <PyTypeObject *>Message
    zk_add_slot(kind, "key", key_at)
    zk_add_slot(kind, "value", value_at)
    zk_add_slot(kind, "raw_key", key_at)
    zk_add_slot(kind, "raw_value", value_at)


_add_slots()
