package deflate

import "hash/crc32"

// A CRC-32 is the remainder of a division of polynomials over the field of two elements. The lowest power of x is the highest bit. To
// append a byte to a text is to multiply its polynomial by x^8. So the checksum of two texts, one after the other, is that of the first
// one, times x^(8*size of the second one), plus that of the second one.

// combine returns the checksum of two texts, one after the other. shift is that of the second text.
func combine(first, second, shift uint32) uint32 { return multiply(first, shift) ^ second }

// shiftOf returns x^(8*size), modulo the polynomial of CRC-32.
func shiftOf(size int) uint32 {
	const one = uint32(1) << 31
	shift, power := one, one>>8
	for n := size; n > 0; n >>= 1 {
		if n&1 == 1 {
			shift = multiply(shift, power)
		}
		power = multiply(power, power)
	}
	return shift
}

// multiply returns the product of two polynomials modulo the polynomial of CRC-32.
func multiply(a, b uint32) uint32 {
	var product uint32
	for bit := uint32(1) << 31; bit > 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		// b times x, modulo the polynomial
		carry := b & 1
		b >>= 1
		if carry == 1 {
			b ^= crc32.IEEE
		}
	}
	return product
}
