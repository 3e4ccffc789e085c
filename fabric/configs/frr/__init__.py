"""FRR's files beside a switch's own: frr.conf, or one for each daemon, such as bgpd.conf and ospfd.conf."""
