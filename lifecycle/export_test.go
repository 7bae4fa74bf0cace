package lifecycle

// What the time of a takeover follows from.
const (
	LeaseDuration = leaseDuration
	RenewDeadline = renewDeadline
	RetryPeriod   = retryPeriod
	LeaseTimeout  = leaseTimeout
)
