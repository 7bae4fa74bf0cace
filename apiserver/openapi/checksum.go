package openapi

import "hash/crc32"

// combine returns the CRC-32 of two texts, one after the other, from the checksums of both and the size of the second.
//
// A checksum is the remainder of a division of polynomials over the field of two elements. To append a byte to a text is to multiply
// its polynomial by x^8. So the checksum of the first text is multiplied by x^(8*size), modulo the polynomial of CRC-32, and the
// checksum of the second one is added.
func combine(first, second uint32, size int64) uint32 {
	const one = uint32(1) << 31 // the lowest power of x is the highest bit
	factor, power := one, one>>8
	for n := size; n > 0; n >>= 1 {
		if n&1 == 1 {
			factor = multiply(factor, power)
		}
		power = multiply(power, power)
	}
	return multiply(first, factor) ^ second
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
