package language

// ErrLate exports errLate.
var ErrLate = errLate

// IsEnglish exports isEnglish.
var IsEnglish = isEnglish
