package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The engine's command-line mode installs an error handler that terminates the process at any exception that leaves a
// connection's thread: a wrong password on the native port, a client that resets its connection, half a greeting (verified
// on 26.7.3). ClickHouse's server uses a handler that goes on. The library exports neither, so tolerateConnectionErrors finds
// the class by its run-time type information, which C++ compilers lay out alike everywhere (Itanium ABI), and gives
// its virtual table the methods of the base class, Poco::ErrorHandler, which do nothing.
//
//	"19KillingErrorHandler" ◄─ name ─ type_info ─ base ─► type_info of Poco::ErrorHandler
//	                                     ▲                        ▲
//	          virtual table: [ 0, type_info, … ]     [ 0, type_info, … ]
const killingHandler = "19KillingErrorHandler\x00"

const (
	word = unsafe.Sizeof(uintptr(0))
	// Slots of the virtual table after offset-to-top and type_info: two destructors, then
	// exception(const Exception &), exception(const std::exception &), exception().
	firstMethod, methods = 2, 3
)

// tolerateConnectionErrors changes the loaded library so that an error on one connection ends that connection only.
func tolerateConnectionErrors(path string, lib *library) error {
	image, err := mapImage(path, lib)
	if err != nil {
		return fmt.Errorf("inspect the engine's library %s: %w", path, err)
	}
	name := bytes.Index(image.readOnly, []byte(killingHandler))
	if name < 0 {
		return fmt.Errorf("inspect the engine's library %s: its error handler is not there; Freshet knows another version", path)
	}
	info, err := image.typeInfo(uintptr(unsafe.Pointer(&image.readOnly[name])))
	if err != nil {
		return fmt.Errorf("inspect the engine's library %s: %w", path, err)
	}
	base := image.relocated[info+2]
	killing, err := image.virtualTable(image.address(info))
	if err != nil {
		return fmt.Errorf("inspect the engine's library %s: %w", path, err)
	}
	harmless, err := image.virtualTable(base)
	if err != nil {
		return fmt.Errorf("inspect the engine's library %s: %w", path, err)
	}
	return overwrite(killing[firstMethod:][:methods], harmless[firstMethod:][:methods])
}

// image is what is needed of a loaded library.
type image struct {
	readOnly  []byte    // .rodata
	relocated []uintptr // .data.rel.ro: type informations and virtual tables, with absolute addresses
}

// mapImage finds the sections of the loaded library in memory.
func mapImage(path string, lib *library) (*image, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == entryPoint })
	if i < 0 {
		return nil, errors.New("no symbol " + entryPoint)
	}
	load := lib.entry - uintptr(symbols[i].Value)
	readOnly, relocated := file.Section(".rodata"), file.Section(".data.rel.ro")
	if readOnly == nil || relocated == nil {
		return nil, io.ErrUnexpectedEOF
	}
	return &image{
		readOnly:  unsafe.Slice((*byte)(pointer(load+uintptr(readOnly.Addr))), readOnly.Size),
		relocated: unsafe.Slice((*uintptr)(pointer(load+uintptr(relocated.Addr))), relocated.Size/uint64(word)),
	}, nil
}

func (m *image) address(index int) uintptr { return uintptr(unsafe.Pointer(&m.relocated[index])) }

// typeInfo returns the index of the type information whose second word is its name's address.
func (m *image) typeInfo(name uintptr) (int, error) {
	i := slices.Index(m.relocated, name)
	if i < 1 || i+1 >= len(m.relocated) {
		return 0, errors.New("no type information of its error handler")
	}
	return i - 1, nil
}

// virtualTable returns the methods of the class with the given type information: they follow the
// pair of a zero offset-to-top and the type information's address.
func (m *image) virtualTable(info uintptr) ([]uintptr, error) {
	for i := 1; i+1+firstMethod+methods <= len(m.relocated); i++ {
		if m.relocated[i] == info && m.relocated[i-1] == 0 {
			return m.relocated[i+1:], nil
		}
	}
	return nil, errors.New("no virtual table of its error handler")
}

// overwrite copies words into memory that the loader has made read-only.
func overwrite(to, from []uintptr) error {
	page := uintptr(os.Getpagesize())
	start := uintptr(unsafe.Pointer(&to[0])) &^ (page - 1)
	end := (uintptr(unsafe.Pointer(&to[0])) + uintptr(len(to))*word + page - 1) &^ (page - 1)
	pages := unsafe.Slice((*byte)(pointer(start)), end-start)
	if err := unix.Mprotect(pages, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return fmt.Errorf("unprotect the engine's error handler: %w", err)
	}
	copy(to, from)
	if err := unix.Mprotect(pages, unix.PROT_READ); err != nil {
		return fmt.Errorf("protect the engine's error handler: %w", err)
	}
	return nil
}

// pointer makes an address outside of Go's heap a pointer. Nothing there moves or is collected.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
