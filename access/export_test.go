package access

// OpenPKIAt is OpenPKI on a clock of the test's.
var OpenPKIAt = openPKI
