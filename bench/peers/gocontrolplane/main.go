// A discovery server on go-control-plane: what it serves is written to its standard input.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	secret "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"
)

const longestLine = 64 << 20

// A group is what a node has of one type; Go reads the bytes from base64.
type group struct {
	Version   string            `json:"version"`
	Resources map[string][]byte `json:"resources"`
}

type order struct {
	Node  string           `json:"node"`
	Types map[string]group `json:"types"`
}

func main() {
	port, folder := os.Args[1], os.Args[2]
	// Not in the mode for ADS: a request is answered with what there is of it.
	snapshots := cache.NewSnapshotCache(false, cache.IDHash{}, nil)
	service := grpc.NewServer(grpc.Creds(credentials.NewTLS(security(folder))))
	streams := server.NewServer(context.Background(), snapshots, nil)
	discovery.RegisterAggregatedDiscoveryServiceServer(service, streams)
	socket, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	fail(err)
	go func() { fail(service.Serve(socket)) }()
	fmt.Printf("{\"port\": %d}\n", socket.Addr().(*net.TCPAddr).Port)

	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var wanted order
		fail(json.Unmarshal(lines.Bytes(), &wanted))
		fail(snapshots.SetSnapshot(context.Background(), wanted.Node, snapshot(wanted)))
		fmt.Println("{\"served\": true}")
	}
}

func snapshot(wanted order) *cache.Snapshot {
	made := &cache.Snapshot{}
	for url, found := range wanted.Types {
		var items []types.Resource
		for _, encoded := range found.Resources {
			message := empty(url)
			fail(proto.Unmarshal(encoded, message))
			items = append(items, message)
		}
		made.Resources[cache.GetResponseType(url)] = cache.NewResources(found.Version, items)
	}
	return made
}

func empty(url string) types.Resource {
	switch url {
	case resource.ClusterType:
		return &cluster.Cluster{}
	case resource.ListenerType:
		return &listener.Listener{}
	case resource.RouteType:
		return &route.RouteConfiguration{}
	case resource.SecretType:
		return &secret.Secret{}
	}
	log.Fatalf("no resources of type %s are known here", url)
	return nil
}

func security(folder string) *tls.Config {
	pair, err := tls.LoadX509KeyPair(
		filepath.Join(folder, "server", "tls.crt"), filepath.Join(folder, "server", "tls.key"))
	fail(err)
	authority, err := os.ReadFile(filepath.Join(folder, "ca", "tls.crt"))
	fail(err)
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		log.Fatal("there is no authority in ca/tls.crt")
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    trusted,
		MinVersion:   tls.VersionTLS12,
	}
}

func fail(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
