package fieldhistory

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"

	"holdfast.dev/holdfast/value"
)

// Hash stands for a value that history does not keep. In the content of an object it is a value of its own.
type Hash struct {
	// SHA256 is that of the JSON of a large value.
	SHA256 string `json:"sha256,omitempty"`
	// HMAC is the HMAC-SHA256 of the UID and the JSON of a secret value, with a key that only the server has. So equal values of two
	// Secrets have different HMACs.
	HMAC string `json:"hmac,omitempty"`
	// Size is the number of bytes of the JSON of the value. That of a secret value is rounded up to a power of two, at least 32.
	Size int `json:"size"`
}

// smallestSize is the smallest size of a secret value that history tells.
const smallestSize = 32

// hashOf returns the Hash of the JSON of a large value.
func hashOf(text []byte) Hash {
	sum := sha256.Sum256(text)
	return Hash{SHA256: hex.EncodeToString(sum[:]), Size: len(text)}
}

// Seal replaces the values of one Secret by their HMACs.
type Seal struct {
	Key []byte
	UID string
}

// Secret returns the content of a Secret in which data, stringData and the values of all annotations are HMACs: an annotation such as
// the last-applied configuration may have the data of the Secret.
func (s Seal) Secret(content map[string]any) map[string]any {
	if content == nil {
		return nil
	}
	out := maps.Clone(content)
	s.below(out, "data")
	s.below(out, "stringData")
	if metadata, ok := out["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		s.below(metadata, "annotations")
		out["metadata"] = metadata
	}
	return out
}

// below replaces the values of a map in an object, or the whole value if it is no map.
func (s Seal) below(object map[string]any, name string) {
	switch values := object[name].(type) {
	case nil:
	case map[string]any:
		sealed := make(map[string]any, len(values))
		for key, v := range values {
			sealed[key] = s.value(v)
		}
		object[name] = sealed
	default:
		object[name] = s.value(values)
	}
}

func (s Seal) value(v any) any {
	if sealed, ok := v.(Hash); ok {
		return sealed
	}
	// A value of an object has a JSON encoding.
	text, _ := json.Marshal(v)
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte(s.UID))
	mac.Write([]byte{0})
	mac.Write(text)
	size := smallestSize
	for size < len(text) {
		size *= 2
	}
	return Hash{HMAC: hex.EncodeToString(mac.Sum(nil)), Size: size}
}

// matches reports whether a value can be the one that a hash stands for. Only the server can compare a value with an HMAC, so to others
// every value matches. So does a value with a part that is not kept.
func (h Hash) matches(v any) bool {
	if other, ok := v.(Hash); ok {
		return other == h
	}
	if _, absent := v.(value.Absent); absent || h.HMAC != "" {
		return !absent
	}
	if hasHash(v) {
		return true
	}
	text, err := json.Marshal(v)
	return err == nil && hashOf(text) == h
}

// hasHash reports whether a value is or has a Hash.
func hasHash(v any) bool {
	switch v := v.(type) {
	case Hash:
		return true
	case map[string]any:
		for _, child := range v {
			if hasHash(child) {
				return true
			}
		}
	case []any:
		for _, child := range v {
			if hasHash(child) {
				return true
			}
		}
	}
	return false
}

// Matches reports whether a content can be the one that a reverted content stands for: it has the same values, and a matching value
// where the reverted content has a Hash.
func Matches(content, reverted any) bool {
	switch reverted := reverted.(type) {
	case Hash:
		return reverted.matches(content)
	case map[string]any:
		object, ok := content.(map[string]any)
		if !ok || len(object) != len(reverted) {
			return false
		}
		for name, v := range reverted {
			if !Matches(field(object, name), v) {
				return false
			}
		}
		return true
	case []any:
		list, ok := content.([]any)
		if !ok || len(list) != len(reverted) {
			return false
		}
		for i, v := range reverted {
			if !Matches(list[i], v) {
				return false
			}
		}
		return true
	}
	return value.Strict.Equal(content, reverted)
}
