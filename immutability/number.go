package immutability

import (
	"encoding/json"
	"math"
	"strconv"
)

// number is a number in the one form that equal numbers share: as an integer if
// it is one that 64 bits hold exactly, else as the bits of a float. It can be
// compared with ==, NaN included.
type number struct {
	integral bool
	bits     uint64
}

// numberOf is v as a number, in whatever Go type it came.
func numberOf(v any) (number, bool) {
	switch v := v.(type) {
	case int64:
		return integer(v), true
	case float64:
		return float(v), true
	case int:
		return integer(int64(v)), true
	case int32:
		return integer(int64(v)), true
	case uint64:
		if v > math.MaxInt64 {
			return float(float64(v)), true
		}
		return integer(int64(v)), true
	case json.Number:
		return parse(v)
	}
	return number{}, false
}

func integer(i int64) number { return number{integral: true, bits: uint64(i)} }

// float is an integer where it can be: 1.0 is 1, and -0.0 is 0.
func float(f float64) number {
	// -1<<63 is a float exactly, 1<<63 is one too and the first that is too big.
	if f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
		return integer(int64(f))
	}
	return number{bits: math.Float64bits(f)}
}

func parse(text json.Number) (number, bool) {
	if i, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return integer(i), true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return number{}, false
	}
	return float(f), true
}
