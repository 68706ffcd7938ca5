"""cert-manager as data: what one version consists of, and what is known about all of them.

What enters are release manifests, charts, files and ConfigMaps; what leaves are bundles, the
objects of one version of cert-manager, checked against a digest. Nothing here is fetched while an
operator runs.

==================  =============================================================
`bundle`            the objects of one version, as a value and as one file
`catalogue`         what is known about versions, flags and feature gates
`versions`          versions read and compared
`sources`           bundles in folders, and one chosen per version
`configmap`         bundles in ConfigMaps
`images`            the images a bundle needs
`differences`       what differs between two bundles
`build`             a bundle made of the published module: `module` fetches it,
                    `chart` renders it, with the `tools` Go and Helm
`manifest`          a bundle made of a release manifest or of a chart
`errors`            what may be wrong, and the command that helps
==================  =============================================================
"""
