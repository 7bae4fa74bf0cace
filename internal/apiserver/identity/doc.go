// Package identity is the stage of the start that decides which clients the server knows and what they may do: authentication,
// revoked credentials, authorization.
//
//	identity, err := identity.Apply(base, usage)
//
// Apply fills in the settings of the generic server. The packages below internal/access do the work; this package puts them together
// as the configuration says.
package identity
