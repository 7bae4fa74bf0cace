package kubelet

import (
	"net"
	"testing"
)

func TestPodAddress(t *testing.T) {
	for text, want := range map[string]struct{ pod, kubelet bool }{
		"10.0.0.1":               {true, true},
		"192.0.2.1":              {true, true},
		"fd00::1":                {true, true},
		"2001:db8::1":            {true, true},
		"64:ff9b::10.0.0.1":      {true, true},
		"127.0.0.1":              {false, true},
		"127.255.255.254":        {false, true},
		"::1":                    {false, true},
		"::ffff:127.0.0.1":       {false, true},
		"64:ff9b::127.0.0.1":     {},
		"169.254.169.254":        {},
		"169.254.170.2":          {},
		"::ffff:169.254.169.254": {},
		"64:ff9b::a9fe:a9fe":     {},
		"fe80::a9fe:a9fe":        {},
		"fd00:ec2::254":          {},
		"fd00:ec2::23":           {},
		"fd20:ce::254":           {},
		"fd00:c1::a9fe:a9fe":     {},
		"100.100.100.200":        {},
		"::ffff:100.100.100.200": {},
		"64:ff9b::168.63.129.16": {},
		"168.63.129.16":          {},
		"192.0.0.192":            {},
		"0.0.0.0":                {},
		"::":                     {},
		"::ffff:0.0.0.0":         {},
		"255.255.255.255":        {},
		"224.0.0.1":              {},
		"ff02::1":                {},
	} {
		ip := net.ParseIP(text)
		if ip == nil {
			t.Fatalf("%s is no address", text)
		}
		if got := podAddress(ip); got != want.pod {
			t.Errorf("pod at %s: allowed %t, want %t", text, got, want.pod)
		}
		if got := kubeletAddress(ip); got != want.kubelet {
			t.Errorf("kubelet at %s: allowed %t, want %t", text, got, want.kubelet)
		}
	}
	if podAddress(nil) {
		t.Error("no address is allowed")
	}
}
