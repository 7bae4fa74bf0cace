// Package settings reads dist/release.env: where a release is published, and the name of its image.
package settings

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// File is the path of the settings in a checkout.
const File = "dist/release.env"

// Settings are the values by name, without HOLDFAST_.
type Settings struct {
	Image, Charts, Downloads, Uploads, Remote, Tap, KrewIndex, MinisignKey, CosignKey string
}

const prefix = "HOLDFAST_"

// Read reads the settings from a file. The function lookup, which is os.LookupEnv, has values that come before those of the file.
func Read(file string, lookup func(string) (string, bool)) (Settings, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Settings{}, err
	}
	var s Settings
	values := map[string]*string{
		"IMAGE": &s.Image, "CHARTS": &s.Charts, "DOWNLOADS": &s.Downloads, "UPLOADS": &s.Uploads, "REMOTE": &s.Remote, "TAP": &s.Tap,
		"KREW_INDEX": &s.KrewIndex, "MINISIGN_KEY": &s.MinisignKey, "COSIGN_KEY": &s.CosignKey,
	}
	var seen []string
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		name, _ := strings.CutPrefix(key, prefix)
		to, known := values[name]
		switch {
		case !known || !strings.HasPrefix(key, prefix):
			return Settings{}, fmt.Errorf("%s:%d: %s is no setting", file, i+1, key)
		case slices.Contains(seen, name):
			return Settings{}, fmt.Errorf("%s:%d: %s is set twice", file, i+1, key)
		case strings.ContainsAny(value, " \t\"'$"):
			return Settings{}, fmt.Errorf("%s:%d: %s: write the value without spaces, quotes and variables", file, i+1, key)
		}
		*to, seen = value, append(seen, name)
	}
	for name, to := range values {
		if value, ok := lookup(prefix + name); ok {
			*to = value
		}
	}
	if s.Image == "" || s.Downloads == "" {
		return Settings{}, fmt.Errorf("%s: %sIMAGE and %sDOWNLOADS must have a value", file, prefix, prefix)
	}
	return s, nil
}
