package aggregation

// CheckAddress is checkAddress, for tests.
var CheckAddress = checkAddress
