package etcd

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// MemberStatus is the state of one member of etcd.
type MemberStatus struct {
	// Endpoint is the URL of the member, or a name for the member in the process.
	Endpoint string `json:"endpoint"`
	// Error says why the member does not answer; the other fields are then empty.
	Error   string `json:"error,omitempty"`
	Version string `json:"version,omitempty"`
	// HasLeader says that the member knows the leader of the cluster.
	HasLeader bool `json:"hasLeader,omitempty"`
	// SizeBytes is the size of the database file, and UsedBytes the part with data. etcd refuses
	// writes when the file has QuotaBytes.
	SizeBytes  int64 `json:"sizeBytes,omitempty"`
	UsedBytes  int64 `json:"usedBytes,omitempty"`
	QuotaBytes int64 `json:"quotaBytes,omitempty"`
	// Alarms are the names of the alarms of the member, such as NOSPACE.
	Alarms []string `json:"alarms,omitempty"`
}

// Members returns the state of each member. It asks them one after the other.
func (c *Client) Members(ctx context.Context) []MemberStatus {
	all := make([]MemberStatus, 0, len(c.endpoints))
	for _, endpoint := range c.endpoints {
		status, err := c.statusOf(ctx, endpoint)
		if err != nil {
			status = MemberStatus{Error: err.Error()}
		}
		status.Endpoint = endpoint
		all = append(all, status)
	}
	return all
}

func (c *Client) statusOf(ctx context.Context, endpoint string) (MemberStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	member, disconnect, err := c.connect(endpoint)
	if err != nil {
		return MemberStatus{}, err
	}
	defer disconnect()
	answer, err := member.Status(ctx, endpoint)
	if err != nil {
		return MemberStatus{}, fmt.Errorf("status: %w", err)
	}
	status := MemberStatus{
		Version: answer.Version, HasLeader: answer.Leader != 0,
		SizeBytes: answer.DbSize, UsedBytes: answer.DbSizeInUse, QuotaBytes: answer.DbSizeQuota,
	}
	// A member without a leader cannot list the alarms. HasLeader tells the reason.
	alarms, err := member.AlarmList(ctx)
	if err != nil {
		return status, nil
	}
	for _, alarm := range alarms.Alarms {
		if alarm.MemberID == answer.Header.MemberId && alarm.Alarm != pb.AlarmType_NONE {
			status.Alarms = append(status.Alarms, alarm.Alarm.String())
		}
	}
	return status, nil
}
