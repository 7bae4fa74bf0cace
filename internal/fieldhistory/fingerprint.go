package fieldhistory

import (
	"fmt"
	"math"
	"strconv"

	"holdfast.dev/holdfast/value"
)

// Fingerprint returns a number that two contents share if they are equal. The number is the same in every process. It is not
// cryptographic: a content with secret values must be sealed before.
func Fingerprint(content map[string]any) uint64 { return sumOf(0, content) }

// FingerprintAfter returns the fingerprint of the content after a write, from that of the content before. The two contents need only have
// the fields that differ: fields that are equal in both, at any depth of maps, do not count.
func FingerprintAfter(fingerprint uint64, before, after map[string]any) uint64 {
	return fingerprint + difference(0, before, after)
}

// sumOf returns the sum of numbers for all values below a place. So a change of one value changes the sum by a number that does not
// depend on the others.
func sumOf(at uint64, v any) uint64 {
	object, ok := v.(map[string]any)
	if !ok {
		return mix(at, fingerprintOf(v))
	}
	sum := mix(at, kindMap)
	for name, child := range object {
		sum += sumOf(mix(at, textOf(name)), child)
	}
	return sum
}

// difference returns by how much the sum of one value is larger than that of another one.
func difference(at uint64, before, after any) uint64 {
	old, both := before.(map[string]any)
	updated, ok := after.(map[string]any)
	if both = both && ok; !both {
		if value.Strict.Equal(before, after) {
			return 0
		}
		return sumOf(at, after) - sumOf(at, before)
	}
	if value.SameObject(old, updated) {
		return 0
	}
	var sum uint64
	for name, v := range old {
		place := mix(at, textOf(name))
		if other, ok := updated[name]; ok {
			sum += difference(place, v, other)
		} else {
			sum -= sumOf(place, v)
		}
	}
	for name, v := range updated {
		if _, ok := old[name]; !ok {
			sum += sumOf(mix(at, textOf(name)), v)
		}
	}
	return sum
}

// The kinds of values, which tell the text "1" from the number 1.
const (
	kindNull = iota + 1
	kindBool
	kindNumber
	kindText
	kindMap
	kindList
	kindHash
	kindOther
)

func fingerprintOf(v any) uint64 {
	switch v := v.(type) {
	case nil:
		return mix(kindNull, 0)
	case bool:
		if v {
			return mix(kindBool, 1)
		}
		return mix(kindBool, 0)
	case int64:
		return mix(kindNumber, uint64(v))
	case float64:
		// Objects that are read from etcd have whole numbers as int64.
		if whole := int64(v); float64(whole) == v {
			return mix(kindNumber, uint64(whole))
		}
		return mix(kindNumber, math.Float64bits(v))
	case string:
		return mix(kindText, textOf(v))
	case map[string]any:
		// Go iterates maps in random order, and a sum does not depend on it.
		var sum uint64
		for name, child := range v {
			sum += mix(textOf(name), fingerprintOf(child))
		}
		return mix(kindMap, sum)
	case []any:
		sum := uint64(len(v))
		for _, child := range v {
			sum = mix(sum, fingerprintOf(child))
		}
		return mix(kindList, sum)
	case Hash:
		return mix(kindHash, textOf(v.SHA256+"/"+v.HMAC+"/"+strconv.Itoa(v.Size)))
	}
	return mix(kindOther, textOf(fmt.Sprint(v)))
}

// textOf is like FNV-1a, with eight bytes at a time.
func textOf(s string) uint64 {
	const prime = 0x9e3779b97f4a7c15
	sum := 14695981039346656037 ^ uint64(len(s))
	for ; len(s) >= 8; s = s[8:] {
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		sum = (sum ^ word) * prime
		sum ^= sum >> 29
	}
	for i := range len(s) {
		sum = (sum ^ uint64(s[i])) * 1099511628211
	}
	return sum
}

// mix combines two numbers so that their order matters, with the steps of splitmix64.
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b + 0x7f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
