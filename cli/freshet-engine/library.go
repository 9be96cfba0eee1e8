package main

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// entryPoint is the function that runs the engine's command line.
const entryPoint = "chdb_query_cmdline"

// library is the part of the engine's C interface that is needed to serve.
type library struct {
	entry        uintptr // address of the function that runs the command line
	queryCmdline func(argc int32, argv **byte) uintptr
	resultError  func(result uintptr) *byte
}

// loadLibrary loads the engine and keeps its signal handlers out: Go's own are in place.
func loadLibrary(path string) (*library, error) {
	// The dynamic linker keeps its last error per thread; on another it would be empty.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("load the engine's library: %w", err)
	}
	var lib library
	for _, symbol := range []string{entryPoint, "chdb_result_error", "chdb_set_signal_handlers_enabled"} {
		address, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return nil, fmt.Errorf("load the engine's library %s: it is not one that Freshet knows: %w", path, err)
		}
		if symbol == entryPoint {
			lib.entry = address
		}
	}
	var setSignalHandlers func(enabled int32)
	purego.RegisterLibFunc(&lib.queryCmdline, handle, entryPoint)
	purego.RegisterLibFunc(&lib.resultError, handle, "chdb_result_error")
	purego.RegisterLibFunc(&setSignalHandlers, handle, "chdb_set_signal_handlers_enabled")
	setSignalHandlers(0)
	return &lib, tolerateConnectionErrors(path, &lib)
}

// run runs the engine's command line and returns when it ends.
func (l *library) run(argv []string) error {
	runtime.LockOSThread() // the engine keeps state per thread
	defer runtime.UnlockOSThread()
	raw := make([]*byte, len(argv)+1)
	for i, a := range argv {
		raw[i] = unsafe.SliceData(append([]byte(a), 0))
	}
	result := l.queryCmdline(int32(len(argv)), unsafe.SliceData(raw))
	runtime.KeepAlive(raw)
	if result == 0 {
		return nil
	}
	if message := goString(l.resultError(result)); message != "" {
		return errors.New(message)
	}
	return nil
}

func goString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
