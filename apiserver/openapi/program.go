package openapi

import (
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Program identifies the program that builds documents. Clients keep a document by its hash, also
// when another program takes over, so the hashes must differ if the documents may.
var Program = sync.OnceValue(func() string {
	var known []string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" || setting.Key == "vcs.modified" {
				known = append(known, setting.Value)
			}
		}
	}
	if len(known) == 2 && known[1] == "false" {
		return known[0]
	}
	// The source of the program is not known, so each process has hashes of its own.
	return strings.Join(known, " ") + time.Now().String()
})
