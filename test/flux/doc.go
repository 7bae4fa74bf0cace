// Package flux applies objects as Flux does, with the code of Flux, and tests what it makes of refused changes.
package flux
