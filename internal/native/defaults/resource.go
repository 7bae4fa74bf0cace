package defaults

import resourcev1 "k8s.io/api/resource/v1"

func resourceClaim(c *resourcev1.ResourceClaim) { deviceClaim(&c.Spec.Devices) }

func resourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) { deviceClaim(&t.Spec.Spec.Devices) }

// deviceClaim sets the number of devices of each request: exactly one.
func deviceClaim(c *resourcev1.DeviceClaim) {
	for i := range c.Requests {
		if exactly := c.Requests[i].Exactly; exactly != nil {
			exactlyOne(&exactly.AllocationMode, &exactly.Count)
			forEach(exactly.Tolerations, toleration)
		}
		forEach(c.Requests[i].FirstAvailable, func(s *resourcev1.DeviceSubRequest) {
			exactlyOne(&s.AllocationMode, &s.Count)
			forEach(s.Tolerations, toleration)
		})
	}
}

func toleration(t *resourcev1.DeviceToleration) {
	setDefault(&t.Operator, resourcev1.DeviceTolerationOpEqual)
}

func exactlyOne(mode *resourcev1.DeviceAllocationMode, count *int64) {
	setDefault(mode, resourcev1.DeviceAllocationModeExactCount)
	if *mode == resourcev1.DeviceAllocationModeExactCount {
		setDefault(count, 1)
	}
}
