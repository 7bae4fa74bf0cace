package cli

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/internal/backup"
)

// describeKeys returns lines about the keys that the objects of a backup need and those that it has.
func describeKeys(info backup.Info) string {
	hasConfig := slices.ContainsFunc(info.Files, func(f backup.File) bool { return f.Name == "encryption.yaml" })
	switch e := info.Encryption; {
	case e == nil && hasConfig:
		return "It has an EncryptionConfiguration. An older version of holdfast wrote it: it does not say which keys its objects need.\n"
	case e == nil:
		return "It has no EncryptionConfiguration. An older version of holdfast wrote it: it does not say whether its objects need keys.\n"
	case len(e.Needed) == 0 && len(e.Present) == 0:
		return "Its objects are not encrypted.\n"
	default:
		text := "Keys that its objects need: " + orNone(e.Needed) + ". Keys that it has: " + orNone(e.Present) + ".\n"
		if unused := e.Unused(); len(unused) > 0 {
			text += "No object needs " + strings.Join(unused, ", ") + ".\n"
		}
		return text + describeMissing(info)
	}
}

// describeMissing returns lines about the keys that a server needs besides a backup, or "".
func describeMissing(info backup.Info) string {
	if info.Encryption == nil {
		return ""
	}
	if missing := info.Encryption.Missing(); len(missing) > 0 {
		return "The backup has no keys of its encrypted objects. The restored server does not start without an EncryptionConfiguration that has " +
			strings.Join(missing, ", ") + ".\n"
	}
	if remote := info.Encryption.Remote(); len(remote) > 0 {
		return "The restored server needs your KMS: the keys of " + strings.Join(remote, ", ") + " are there, and not in the backup.\n"
	}
	return ""
}

func orNone(keys []string) string {
	if len(keys) == 0 {
		return "none"
	}
	return strings.Join(keys, ", ")
}
