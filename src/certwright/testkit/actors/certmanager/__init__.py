"""cert-manager played for the embedded server, in virtual time: nothing runs, everything happens.

What enters are pods whose images are called ``cert-manager-controller``, ``-webhook`` and
``-cainjector``, and a `CertManagerPlay`, which says how long things take and what never happens.
What leaves is what the real programs would write and answer, as their ServiceAccounts: the
webhook's authority, caBundles, Leases, issued Certificates, and reviews whose certificate chain is
verified. No network, no image and no fault of a simulation is involved.

    async def test_install(embedded_cluster: EmbeddedCluster) -> None:
        play = CertManagerPlay(injection=30, pods={"*-webhook:*": PodPlay(start=5, ready=5)})
        played = await embedded_cluster.enter(PlayedCertManager(embedded_cluster, play))
        for manifest in small_release("v1.21.2"):  # or what an operator applies
            await embedded_cluster.apply(manifest)
        assert await played.obstacles()
        await embedded_cluster.advance(minutes=2)
        assert not await played.obstacles()

==============  =================================================================
`play`          delays and faults, as a value; `random_play` draws one
`components`    which pods are cert-manager's, and what their arguments say
`webhook`       its authority, its certificate, how reviews reach it
`reviews`       its answers; `validation` decides them
`cainjector`    caBundles
`election`      Leases; `locks` are where the record is kept
`aggregation`   APIServices, by which early versions are reached
`controller`    issuers and Certificates; `issuance` decides what is written
`keypairs`      the keys and certificates that are played with
`smallrelease`  the objects of a release, with little in them, for quick tests
`world`         what the components share
`played`        all of it together
==============  =================================================================
"""

from certwright.testkit.actors.certmanager.play import CertManagerPlay, random_play
from certwright.testkit.actors.certmanager.played import PlayedCertManager
from certwright.testkit.actors.certmanager.smallrelease import small_release

__all__ = ["CertManagerPlay", "PlayedCertManager", "random_play", "small_release"]
