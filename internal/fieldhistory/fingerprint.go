package fieldhistory

import (
	"fmt"
	"math"
	"strconv"
)

// Fingerprint returns a number that two contents share if they are equal. The number is the same in every process. It is not
// cryptographic: a content with secret values must be sealed before.
func Fingerprint(content map[string]any) uint64 { return fingerprintOf(content) }

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

// textOf is FNV-1a.
func textOf(s string) uint64 {
	sum := uint64(14695981039346656037)
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
