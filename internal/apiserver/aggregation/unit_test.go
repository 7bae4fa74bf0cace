package aggregation_test

import (
	"testing"

	"holdfast.dev/holdfast/internal/apiserver/aggregation"
)

func TestAddresses(t *testing.T) {
	rows := map[string]bool{
		"10.0.0.1:443": true, "192.0.2.1:443": true, "[2001:db8::1]:443": true,
		"127.0.0.1:443": false, "127.9.9.9:443": false, "[::1]:443": false, "[::ffff:127.0.0.1]:443": false,
		"169.254.169.254:80": false, "[fe80::1%eth0]:443": false, "[fd00:ec2::254]:80": false, "100.100.100.200:80": false,
		"168.63.129.16:80": false, "0.0.0.0:443": false, "[::]:443": false, "224.0.0.1:443": false, "localhost:443": false,
	}
	for address, allowed := range rows {
		if err := aggregation.CheckAddress(address); (err == nil) != allowed {
			t.Errorf("%s: got %v, allowed: %t", address, err, allowed)
		}
	}
}
