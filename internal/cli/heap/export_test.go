package heap

// PercentOf exports percentOf.
var PercentOf = percentOf

// LimitOf exports limit.
var LimitOf = limit
