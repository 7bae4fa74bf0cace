package value

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// number is a number in a normal form: equal numbers have the same form, so that ==
// compares them.
//
// small holds an integer that fits into an int64. Any other number is
// 0.digits × 10^exponent, where digits has no zero at either end. A float64
// without a fraction has the value of exactly that integer. A float64 with a
// fraction has the value of the shortest decimal that parses to the same float64.
// JSON encoding writes this decimal too, so 0.1 in a float64 equals 0.1 in a
// json.Number.
type number struct {
	kind     numberKind
	small    int64
	digits   string
	exponent int64
}

// numberKind is the kind of a number. integer is a number that small holds. negative
// and positive are all other finite numbers: fractions, and integers that do not fit
// into an int64. The order of the constants is the order of the numbers, except
// between finite numbers: the integer -2 is less than the negative number -0.5.
type numberKind uint8

const (
	notANumber numberKind = iota // NaN, which JSON cannot hold; equal to itself here
	negativeInfinity
	negative
	integer
	positive
	positiveInfinity
)

// numberOf returns v as a number, or false if v is no number. A json.Number that
// parseNumber does not accept is no number.
func numberOf(v any) (number, bool) {
	switch v := v.(type) {
	case int64:
		return number{kind: integer, small: v}, true
	case float64:
		return floatNumber(v), true
	case json.Number:
		return parseNumber(string(v))
	case int:
		return number{kind: integer, small: int64(v)}, true
	case int32:
		return number{kind: integer, small: int64(v)}, true
	case uint64:
		return unsignedNumber(v), true
	case float32:
		return floatNumber(float64(v)), true
	case uint:
		return unsignedNumber(uint64(v)), true
	case uint32:
		return number{kind: integer, small: int64(v)}, true
	case int16:
		return number{kind: integer, small: int64(v)}, true
	case uint16:
		return number{kind: integer, small: int64(v)}, true
	case int8:
		return number{kind: integer, small: int64(v)}, true
	case uint8:
		return number{kind: integer, small: int64(v)}, true
	}
	return number{}, false
}

func unsignedNumber(u uint64) number {
	if u <= math.MaxInt64 {
		return number{kind: integer, small: int64(u)}
	}
	n, _ := parseNumber(strconv.FormatUint(u, 10))
	return n
}

func floatNumber(f float64) number {
	format, precision := byte('e'), -1
	switch {
	case math.IsNaN(f):
		return number{kind: notANumber}
	case math.IsInf(f, 1):
		return number{kind: positiveInfinity}
	case math.IsInf(f, -1):
		return number{kind: negativeInfinity}
	case f == math.Trunc(f):
		// float64 holds -1<<63 exactly; 1<<63 is the first that is too large.
		if f >= -1<<63 && f < 1<<63 {
			return number{kind: integer, small: int64(f)}
		}
		// The format 'f' with precision 0 writes all digits of the integer.
		format, precision = 'f', 0
	}
	n, _ := parseNumber(strconv.FormatFloat(f, format, precision, 64))
	return n
}

// parseNumber reads a number as JSON writes it. It also accepts leading zeros.
func parseNumber(text string) (number, bool) {
	kind := positive
	if rest, found := strings.CutPrefix(text, "-"); found {
		kind, text = negative, rest
	}
	whole, text := leadingDigits(text)
	fraction := ""
	if rest, found := strings.CutPrefix(text, "."); found {
		if fraction, text = leadingDigits(rest); fraction == "" {
			return number{}, false
		}
	}
	exponent, ok := parseExponent(text)
	if whole == "" || !ok {
		return number{}, false
	}
	digits := strings.TrimLeft(whole, "0")
	exponent += int64(len(digits))
	if digits == "" {
		digits = strings.TrimLeft(fraction, "0")
		exponent -= int64(len(fraction) - len(digits))
	} else {
		digits += fraction
	}
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return number{kind: integer}, true
	}
	n := number{kind: kind, digits: digits, exponent: exponent}
	if small, fits := n.asInt64(); fits {
		return number{kind: integer, small: small}, true
	}
	return n, true
}

func leadingDigits(text string) (digits, rest string) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:]
}

// parseExponent reads what follows the digits of a number: nothing, or an e and
// an integer of at most 18 digits.
func parseExponent(text string) (int64, bool) {
	if text == "" {
		return 0, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	text = text[1:]
	sign := int64(1)
	if text != "" && (text[0] == '+' || text[0] == '-') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	digits, rest := leadingDigits(text)
	if digits == "" || rest != "" {
		return 0, false
	}
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > 18 {
		return 0, false
	}
	exponent := int64(0)
	for i := range len(digits) {
		exponent = exponent*10 + int64(digits[i]-'0')
	}
	return sign * exponent, true
}

// asInt64 returns the number as an int64, or false if it is no integer or does not
// fit.
func (n number) asInt64() (int64, bool) {
	const most = 19 // digits of the largest int64
	if n.exponent < int64(len(n.digits)) || n.exponent > most {
		return 0, false
	}
	text := n.digits + strings.Repeat("0", int(n.exponent)-len(n.digits))
	if n.kind == negative {
		text = "-" + text
	}
	small, err := strconv.ParseInt(text, 10, 64)
	return small, err == nil
}

// decimal returns the sign, digits and exponent of a finite number.
func (n number) decimal() (sign int, digits string, exponent int64) {
	switch {
	case n.kind == negative:
		return -1, n.digits, n.exponent
	case n.kind == positive:
		return 1, n.digits, n.exponent
	case n.small == 0:
		return 0, "", 0
	}
	sign, digits = 1, strconv.FormatInt(n.small, 10)
	if n.small < 0 {
		sign, digits = -1, digits[1:]
	}
	return sign, strings.TrimRight(digits, "0"), int64(len(digits))
}

func (n number) isFinite() bool { return n.kind >= negative && n.kind <= positive }

// compare orders numbers by their value; NaN comes first.
func (n number) compare(other number) int {
	switch {
	case n.kind == integer && other.kind == integer:
		return cmp.Compare(n.small, other.small)
	case !n.isFinite() || !other.isFinite():
		return cmp.Compare(n.kind, other.kind)
	}
	sign, digits, exponent := n.decimal()
	otherSign, otherDigits, otherExponent := other.decimal()
	if sign != otherSign {
		return cmp.Compare(sign, otherSign)
	}
	return sign * cmp.Or(cmp.Compare(exponent, otherExponent), strings.Compare(digits, otherDigits))
}
