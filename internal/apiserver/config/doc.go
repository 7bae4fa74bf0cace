// Package config is the configuration of a server: its settings, their defaults and their validation.
//
//	settings, err := config.Server{DataDir: dir}.WithDefaults()
//
// The errors name a setting by the flag of `holdfast serve`, because an administrator reads them.
package config
