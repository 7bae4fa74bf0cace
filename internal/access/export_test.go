package access

// OpenPKIAt is OpenPKI with a clock that the test sets.
var OpenPKIAt = openPKI
